// Parts of a loader that are written in Python: field decoders, augmentations, allocators. The
// loader's threads call them with the GIL, so one at a time. What they raise comes out of
// Loader.next() as it is; an ffkit.Error of the codes of bad samples makes one.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/image/augmentation.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/slab_allocator.h>

namespace nb = nanobind;

namespace ffkit::python {

// Exceptions between Python and C++, both ways.

// The ffkit.Error of a C++ one. With the GIL.
nb::object to_python(const Error& error);

// Says more of a Python exception, as BaseException.add_note() does. With the GIL.
void add_note(nb::handle exception, const std::string& text);

// A Python exception on its way through threads of C++; out of a bound function it comes as the
// object that was raised. Copies share it; the last one may go on any thread, with or without the
// GIL.
class PythonFailure : public PlacedFailure {
 public:
  // With the GIL.
  explicit PythonFailure(const nb::python_error& error);
  const char* what() const noexcept override { return "an exception of Python"; }
  nb::handle value() const;
  // A note of the exception (BaseException.add_note).
  void happened_in(const std::string& place) const noexcept override;

 private:
  std::shared_ptr<PyObject> value_;
};

// To be called where a bad sample is to be told from a failure: throws the ffkit::Error of an
// ffkit.Error, else a PythonFailure. With the GIL.
[[noreturn]] void rethrow(const nb::python_error& error);

// A reference that may be dropped by any thread, with or without the GIL.
std::shared_ptr<PyObject> shared_object(nb::object object);

// Of an ffkit.PythonField, which is the batch's field `name`.
std::shared_ptr<const FieldDecoder> make_python_decoder(const Schema& schema, nb::handle spec,
                                                        const std::string& name);
// Of an ffkit.PythonAugmentation.
std::shared_ptr<const PixelTransform> make_python_augmentation(nb::handle spec);
// allocate(num_bytes) -> (address, object that keeps the memory). It is called for each batch.
std::shared_ptr<SlabAllocator> make_python_allocator(nb::object allocate);
// What such an allocator gave for the memory of `batch` at `data`; None for other batches.
nb::object memory_owner(const Batch& batch, const void* data);

}  // namespace ffkit::python
