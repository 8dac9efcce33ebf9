// Parts of a loader that are written in Python: field decoders, augmentations, allocators. The
// loader's threads call them with the GIL, so one at a time. What they raise comes out of
// Loader.next() as it is; an ffkit.Error of the codes of bad samples makes one.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include <ffkit/image/augmentation.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/slab_allocator.h>

namespace nb = nanobind;

namespace ffkit::python {

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
