#include "batch.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bindings.h"
#include "python_code.h"
#include "values.h"

namespace ffkit::python {
namespace {

const Batch& batch_of(nb::handle self) {
  return nb::cast<const PyBatch&>(self).batch();
}

// An array of fewer bytes is copied: who keeps the labels of an epoch, or a batch's record numbers,
// does not keep the pictures with them.
constexpr size_t kSmallBytes = 64 << 10;

// The memory of an array, and what keeps it alive.
struct Memory {
  void* data = nullptr;
  nb::object owner;
};

Memory memory_of(nb::handle self, const BatchArray& array) {
  if (array.num_bytes() >= kSmallBytes) return {array.data, nb::borrow(self)};
  const nb::capsule copy = copied_bytes(array.data, array.num_bytes());
  return {copy.data(), copy};
}

// Kind: nothing for a capsule of DLPack, which is taken once; nb::array_api for an object with
// __dlpack__ and __dlpack_device__.
template <typename... Kind>
nb::any dlpack_of(nb::handle self, size_t i) {
  const BatchArray array = batch_of(self).field(i);
  const Memory memory = memory_of(self, array);
  const std::vector<size_t> extents(array.shape.begin(), array.shape.end());
  return any_of(nb::cast(
      nb::ndarray<nb::device::cpu, Kind...>(memory.data, extents.size(), extents.data(),
                                            memory.owner, nullptr, dlpack_dtype(array.dtype)),
      nb::rv_policy::reference));
}

nb::any numpy_of(nb::handle self, size_t i) {
  const BatchArray array = batch_of(self).field(i);
  const Memory memory = memory_of(self, array);
  return any_of(numpy_array(memory.data, array.shape, array.dtype, memory.owner));
}

template <typename T>
nb::object numbers(std::span<const T> values) {
  return numpy_vector(std::vector<T>(values.begin(), values.end()));
}

// What the loader's allocator gave for the memory of array `i`, and the address of the array.
nb::typed<nb::tuple, nb::any, int> owner_of(nb::handle self, size_t i) {
  const BatchArray array = batch_of(self).field(i);
  return nb::make_tuple(memory_owner(batch_of(self), array.data),
                        reinterpret_cast<uintptr_t>(array.data));
}

nb::typed<nb::list, nb::str> names_of(const PyBatch& self) {
  nb::list names;
  for (size_t i = 0; i < self.batch().num_fields(); ++i) {
    names.append(text_to_python(self.batch().field_name(i)));
  }
  return names;
}

nb::list bad_samples_of(std::span<const Replacement> all) {
  nb::list samples;
  for (const Replacement& one : all) {
    samples.append(nb::make_tuple(one.index_in_batch, one.bad_record, text_to_python(one.reason)));
  }
  return samples;
}

nb::object copy_of(const BatchArray& array) {
  const nb::capsule copy = copied_bytes(array.data, array.num_bytes());
  return numpy_array(copy.data(), array.shape, array.dtype, copy);
}

// What ffkit._batch.Facts takes: size, epoch, step, mix_lambda, record_indices, source,
// replacements, samples left out, row offsets by name, geometries by view, sizes of the pictures,
// those in padded views, and of padded arrays view and axis of the height. All of it is copied.
nb::typed<nb::tuple, nb::any, nb::ellipsis> facts_of(const PyBatch& self) {
  const Batch& batch = self.batch();
  nb::dict offsets;
  for (size_t i = 0; i < batch.num_fields(); ++i) {
    if (!batch.has_rows(i)) continue;
    offsets[text_to_python(batch.field_name(i))] = numbers(batch.row_offsets(batch.field_name(i)));
  }
  nb::dict geometries;
  for (const std::string& view : batch.views()) {
    geometries[text_to_python(view)] = copy_of(batch.geometry(view));
  }
  nb::dict unpadded;
  nb::dict padded;
  for (const PaddedArray& array : batch.padded_arrays()) {
    unpadded[text_to_python(array.view)] = copy_of(batch.unpadded_sizes(array.view));
    padded[text_to_python(array.name)] =
        nb::make_tuple(text_to_python(array.view), array.height_axis);
  }
  const nb::object sizes = batch.views().empty() ? nb::none() : copy_of(batch.source_sizes());
  return nb::make_tuple(batch.size(), batch.epoch(), batch.step(), batch.mix_lambda(),
                        numbers(batch.record_indices()), numbers(batch.source()),
                        bad_samples_of(batch.replacements()), bad_samples_of(batch.left_out()),
                        offsets, geometries, sizes, unpadded, padded);
}

}  // namespace

void bind_batch(nb::module_& module) {
  using Self = nb::handle_t<PyBatch>;
  nb::class_<PyBatch>(module, "Batch")
      .def_prop_ro("names", &names_of)
      .def("facts", &facts_of)
      .def("owner", [](Self self, size_t i) { return owner_of(self, i); })
      .def("strings",
           [](const PyBatch& b, const std::string& name) {
             return texts_to_python(b.batch().strings(name));
           })
      .def("has_texts", [](const PyBatch& b, size_t i) { return b.batch().has_texts(i); })
      .def("is_bfloat16",
           [](const PyBatch& b, size_t i) { return b.batch().field(i).dtype == DType::bf16; })
      .def("numpy", [](Self self, size_t i) { return numpy_of(self, i); })
      .def("capsule", [](Self self, size_t i) { return dlpack_of(self, i); })
      .def("dlpack", [](Self self, size_t i) { return dlpack_of<nb::array_api>(self, i); });
}

}  // namespace ffkit::python
