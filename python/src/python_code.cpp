#include "python_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <ffkit/image/random.h>

#include "base/make_error.h"
#include "bindings.h"
#include "values.h"

namespace ffkit::python {
namespace {

// Calls `work` with the GIL; what Python raises becomes an exception that any thread may hold.
template <typename Work>
auto with_gil(Work&& work) {
  const nb::gil_scoped_acquire gil;
  try {
    return std::forward<Work>(work)();
  } catch (const nb::python_error& error) {
    rethrow(error);
  }
}

// A function of Python from fields of a record and a key to numbers.
class PythonFunction {
 public:
  PythonFunction(const Schema& schema, nb::handle spec, std::string name)
      : schema_(schema),
        name_(std::move(name)),
        function_(shared_object(nb::borrow(spec.attr("function")))),
        dtype_(from_name<DType>(get<std::string>(spec, "dtype"))),
        shape_(get<std::vector<int64_t>>(spec, "shape")) {
    if (dtype_ == DType::bf16) {
      throw error_of(ErrorCode::invalid_argument,
                     "the PythonField '{}' cannot give bf16, which numpy does not have; use f32 or "
                     "f16",
                     name_);
    }
    const nb::object inputs = spec.attr("inputs");
    for (size_t i = 0; i < schema.fields.size() && inputs.is_none(); ++i) inputs_.push_back(i);
    if (inputs.is_none()) return;
    for (const auto& input : get<std::vector<std::string>>(spec, "inputs")) {
      inputs_.push_back(schema.require(input));
    }
  }

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<size_t>& inputs() const { return inputs_; }

  // With the GIL: what the function returns, as a numpy array.
  nb::object call(const RecordView& record, const SampleKey& key) const {
    nb::dict values;
    for (const size_t i : inputs_) {
      values[text_to_python(schema_.fields[i].name)] =
          value_to_python(schema_.fields[i], record.field(i));
    }
    const nb::object result =
        nb::borrow(function_.get())(values, nb::cast(key, nb::rv_policy::copy));
    return nb::module_::import_("numpy").attr("asarray")(result);
  }

  // With the GIL: copies `array` of this shape to `out`; Error(invalid_argument) for one of another
  // shape or of numbers that do not fit.
  void store(const nb::object& array, const std::vector<int64_t>& shape, void* out) const {
    const auto actual = nb::cast<std::vector<int64_t>>(array.attr("shape"));
    if (actual != shape) {
      throw error_of(ErrorCode::invalid_argument,
                     "the function of the PythonField '{}' returned shape [{}], expected [{}]",
                     name_, fmt::join(actual, ", "), fmt::join(shape, ", "));
    }
    const nb::object view = numpy_array(out, shape, dtype_, nb::none());
    const nb::object copyto = nb::module_::import_("numpy").attr("copyto");
    copyto(view, array, nb::arg("casting") = "same_kind");
  }

 private:
  const Schema schema_;
  const std::string name_;  // of the batch's field
  const std::shared_ptr<PyObject> function_;
  const DType dtype_;
  const std::vector<int64_t> shape_;
  std::vector<size_t> inputs_;
};

class PythonDecoder final : public FieldDecoder {
 public:
  explicit PythonDecoder(PythonFunction function) : function_(std::move(function)) {}
  DType dtype() const override { return function_.dtype(); }
  std::vector<int64_t> shape() const override { return function_.shape(); }
  std::optional<std::vector<size_t>> inputs() const override { return function_.inputs(); }
  void decode(const RecordView& record, const SampleKey& key, Scratch* /*scratch*/,
              void* out) const override {
    with_gil([&] { function_.store(function_.call(record, key), function_.shape(), out); });
  }

 private:
  const PythonFunction function_;
};

class PythonRowsDecoder final : public RowsDecoder {
 public:
  PythonRowsDecoder(PythonFunction function, int64_t max_rows, RowLayout layout)
      : function_(std::move(function)), max_rows_(max_rows), layout_(layout) {}
  DType dtype() const override { return function_.dtype(); }
  std::vector<int64_t> shape() const override { return function_.shape(); }
  std::optional<std::vector<size_t>> inputs() const override { return function_.inputs(); }
  int64_t max_rows() const override { return max_rows_; }
  RowLayout layout() const override { return layout_; }
  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* /*scratch*/,
                      void* out) const override {
    return with_gil([&] {
      const nb::object rows = function_.call(record, key);
      std::vector<int64_t> shape = function_.shape();
      const auto actual = nb::cast<std::vector<int64_t>>(rows.attr("shape"));
      const int64_t num_rows = actual.empty() ? 0 : actual[0];
      if (num_rows > max_rows_) {
        throw error_of(ErrorCode::invalid_argument,
                       "the function of the PythonField '{}' returned {} rows, more than max_rows, "
                       "which is {}",
                       function_.name(), num_rows, max_rows_);
      }
      shape.insert(shape.begin(), num_rows);
      function_.store(rows, shape, out);
      return num_rows;
    });
  }

 private:
  const PythonFunction function_;
  const int64_t max_rows_;
  const RowLayout layout_;
};

// Memory for the pixels of an augmentation, used again unless something of Python still refers to
// it.
class PixelMemory {
 public:
  using Block = std::shared_ptr<std::vector<uint8_t>>;

  Block take(size_t num_bytes) {
    Block block;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        block = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (block == nullptr) block = std::make_shared<std::vector<uint8_t>>();
    block->resize(num_bytes);
    return block;
  }
  void give_back(Block block) {
    if (block.use_count() != 1) return;  // it goes with the array that was kept
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;  // guards what follows; never held while Python runs
  std::vector<Block> free_;
};

// The function gets an array that owns its memory, since a reference to it may outlive the call: in
// a list, or in a traceback that a debugger shows.
class PythonAugmentation final : public PixelTransform {
 public:
  explicit PythonAugmentation(std::shared_ptr<PyObject> function)
      : function_(std::move(function)) {}

  void apply(const RgbImage& image, CounterRandom& random) const override {
    const size_t num_bytes = image.num_bytes();
    PixelMemory::Block block = memory_.take(num_bytes);
    std::memcpy(block->data(), image.data, num_bytes);
    with_gil([&] { call(block, {image.height, image.width, 3}, random); });
    std::memcpy(image.data, block->data(), num_bytes);
    memory_.give_back(std::move(block));
  }

 private:
  void call(const PixelMemory::Block& block, const std::array<int64_t, 3>& shape,
            CounterRandom& random) const {
    auto* owned = new PixelMemory::Block(block);
    const nb::capsule owner(owned,
                            [](void* p) noexcept { delete static_cast<PixelMemory::Block*>(p); });
    const nb::object pixels = numpy_array(block->data(), shape, DType::u8, owner);
    // The function draws from a copy: it may keep what it is given.
    const nb::object copy = nb::cast(random, nb::rv_policy::copy);
    const nb::object result = nb::borrow(function_.get())(pixels, copy);
    random = nb::cast<CounterRandom&>(copy);
    if (result.is_none() || result.is(pixels)) return;
    const nb::module_ numpy = nb::module_::import_("numpy");
    const nb::object array = numpy.attr("asarray")(result);
    const auto actual = nb::cast<std::vector<int64_t>>(array.attr("shape"));
    const auto dtype = nb::cast<std::string>(nb::str(nb::object(array.attr("dtype").attr("name"))));
    if (dtype != "uint8" || !std::equal(actual.begin(), actual.end(), shape.begin(), shape.end())) {
      const std::string message = fmt::format(
          "the function of a PythonAugmentation returned {} of shape [{}]; expected uint8 of [{}], "
          "or None where it has changed the pixels in place",
          dtype, fmt::join(actual, ", "), fmt::join(shape, ", "));
      PyErr_SetString(PyExc_TypeError, message.c_str());
      throw nb::python_error();
    }
    numpy.attr("copyto")(pixels, array);
  }

  const std::shared_ptr<PyObject> function_;
  mutable PixelMemory memory_;
};

class PythonAllocator final : public SlabAllocator {
 public:
  explicit PythonAllocator(nb::object allocate) : allocate_(shared_object(std::move(allocate))) {}

  void* allocate(size_t num_bytes) override {
    return with_gil([&] {
      const nb::object made = nb::borrow(allocate_.get())(num_bytes);
      void* memory = reinterpret_cast<void*>(nb::cast<uintptr_t>(made[0]));
      if (memory == nullptr) throw std::bad_alloc();
      const std::lock_guard lock(mutex_);
      owners_[memory] = shared_object(made[1]);
      return memory;
    });
  }

  void deallocate(void* slab, size_t /*num_bytes*/) noexcept override {
    std::shared_ptr<PyObject> owner;  // goes without the lock
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(slab);
    if (found == owners_.end()) return;
    owner.swap(found->second);
    owners_.erase(found);
  }
  bool takes_back_each_batch() const override { return true; }

  // Of the slab that `data` lies in.
  std::shared_ptr<PyObject> owner_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    const auto behind = owners_.upper_bound(const_cast<void*>(data));
    return behind == owners_.begin() ? nullptr : std::prev(behind)->second;
  }

 private:
  const std::shared_ptr<PyObject> allocate_;
  mutable std::mutex mutex_;  // guards what follows; never held while Python runs
  std::map<void*, std::shared_ptr<PyObject>> owners_;
};

}  // namespace

std::shared_ptr<PyObject> shared_object(nb::object object) {
  return {object.release().ptr(), [](PyObject* p) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire gil;
            Py_DECREF(p);
          }};
}

std::shared_ptr<const FieldDecoder> make_python_decoder(const Schema& schema, nb::handle spec,
                                                        const std::string& name) {
  PythonFunction function(schema, spec, name);
  if (spec.attr("max_rows").is_none()) return std::make_shared<PythonDecoder>(std::move(function));
  return std::make_shared<PythonRowsDecoder>(
      std::move(function), get<int64_t>(spec, "max_rows"),
      get<bool>(spec, "padded") ? RowLayout::padded : RowLayout::ragged);
}

std::shared_ptr<const PixelTransform> make_python_augmentation(nb::handle spec) {
  return std::make_shared<PythonAugmentation>(shared_object(nb::borrow(spec.attr("function"))));
}

std::shared_ptr<SlabAllocator> make_python_allocator(nb::object allocate) {
  return std::make_shared<PythonAllocator>(std::move(allocate));
}

nb::object memory_owner(const Batch& batch, const void* data) {
  const auto* allocator = dynamic_cast<const PythonAllocator*>(batch.allocator());
  const auto owner = allocator == nullptr ? nullptr : allocator->owner_of(data);
  return owner == nullptr ? nb::object(nb::none()) : nb::borrow(owner.get());
}

void bind_random(nb::module_& module) {
  nb::class_<CounterRandom>(module, "Random",
                            "Random numbers that depend on a sample's key and the stream alone.")
      .def("next", &CounterRandom::next, "64 random bits.")
      .def(
          "uniform",
          [](CounterRandom& random, double low, double high) { return random.uniform(low, high); },
          nb::arg("low") = 0.0, nb::arg("high") = 1.0, "Uniform in [low, high).")
      .def(
          "below",
          [](CounterRandom& random, int64_t n) {
            if (n < 1) throw nb::value_error("Random.below() needs a number of at least 1");
            return random.below(n);
          },
          nb::arg("n"), "Uniform in 0 .. n-1.");
  nb::class_<SampleKey>(module, "SampleKey",
                        "What the randomness of one sample depends on, and nothing else.")
      .def(
          "__init__",
          [](SampleKey* key, uint64_t seed, int64_t epoch, int64_t record_index) {
            new (key) SampleKey{seed, epoch, record_index};
          },
          nb::arg("seed"), nb::arg("epoch"), nb::arg("record_index"))
      .def_ro("seed", &SampleKey::seed)
      .def_ro("epoch", &SampleKey::epoch)
      .def_ro("record_index", &SampleKey::record_index)
      .def(
          "random",
          [](const SampleKey& key, int stream) {
            if (stream < 0 || stream > 255) {
              throw nb::value_error("a stream must be a number from 0 to 255");
            }
            return CounterRandom(key, static_cast<uint8_t>(stream));
          },
          nb::arg("stream") = 128,
          "Random numbers of this sample; the loader's own transforms take the streams 0 .. 127.");
}

}  // namespace ffkit::python
