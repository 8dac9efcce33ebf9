#include "batch.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>

#include "bindings.h"
#include "values.h"

namespace ffkit::python {
namespace {

const Batch& batch_of(nb::handle self) {
  return nb::cast<const PyBatch&>(self).batch();
}

// Kind: nothing for a capsule of DLPack, which is taken once; nb::array_api for an object with __dlpack__ and __dlpack_device__.
template <typename... Kind>
nb::any dlpack_of(nb::handle self, size_t i) {
  const BatchArray array = batch_of(self).field(i);
  const std::vector<size_t> extents(array.shape.begin(), array.shape.end());
  return any_of(
      nb::cast(nb::ndarray<nb::device::cpu, Kind...>(array.data, extents.size(), extents.data(),
                                                     self, nullptr, dlpack_dtype(array.dtype)),
               nb::rv_policy::reference));
}

nb::any numpy_of(nb::handle self, size_t i) {
  const BatchArray array = batch_of(self).field(i);
  return any_of(numpy_array(array.data, array.shape, array.dtype, self));
}

template <typename T>
nb::any numbers_of(nb::handle self, std::span<const T> numbers) {
  const int64_t size = std::ssize(numbers);
  return any_of(numpy_array(const_cast<T*>(numbers.data()), {&size, 1}, dtype_of<T>(), self));
}

nb::typed<nb::list, nb::str> names_of(const PyBatch& self) {
  nb::list names;
  for (size_t i = 0; i < self.batch().num_fields(); ++i) {
    names.append(text_to_python(self.batch().field_name(i)));
  }
  return names;
}

nb::typed<nb::list, nb::str> texts_of(const PyBatch& self, const std::string& name) {
  nb::list texts;
  for (const std::string_view text : self.batch().strings(name)) texts.append(text_to_python(text));
  return texts;
}

nb::typed<nb::list, nb::typed<nb::tuple, int, int, nb::str>> replacements_of(const PyBatch& self) {
  nb::list replacements;
  for (const Replacement& one : self.batch().replacements()) {
    replacements.append(
        nb::make_tuple(one.index_in_batch, one.bad_record, text_to_python(one.reason)));
  }
  return replacements;
}

}  // namespace

void bind_batch(nb::module_& module) {
  using Self = nb::handle_t<PyBatch>;
  nb::class_<PyBatch>(module, "Batch")
      .def_prop_ro("size", [](const PyBatch& b) { return b.batch().size(); })
      .def_prop_ro("epoch", [](const PyBatch& b) { return b.batch().epoch(); })
      .def_prop_ro("step", [](const PyBatch& b) { return b.batch().step(); })
      .def_prop_ro("mix_lambda", [](const PyBatch& b) { return b.batch().mix_lambda(); })
      .def_prop_ro("names", &names_of)
      .def_prop_ro("replacements", &replacements_of)
      .def_prop_ro("record_indices",
                   [](Self self) { return numbers_of(self, batch_of(self).record_indices()); })
      .def_prop_ro("source", [](Self self) { return numbers_of(self, batch_of(self).source()); })
      .def("row_offsets",
           [](Self self, const std::string& name) {
             return numbers_of(self, batch_of(self).row_offsets(name));
           })
      .def("strings", &texts_of)
      .def("is_bfloat16",
           [](const PyBatch& b, size_t i) { return b.batch().field(i).dtype == DType::bf16; })
      .def("numpy", [](Self self, size_t i) { return numpy_of(self, i); })
      .def("capsule", [](Self self, size_t i) { return dlpack_of(self, i); })
      .def("dlpack", [](Self self, size_t i) { return dlpack_of<nb::array_api>(self, i); });
}

}  // namespace ffkit::python
