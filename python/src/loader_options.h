// LoaderOptions from the dict that python/ffkit/_loader.py makes, and decoders from its fields.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/loader_options.h>

namespace nb = nanobind;

namespace ffkit::python {

// A decoder of C++ as an object of Python, such as those of ffkit.nuscenes.keyframe_fields().
struct DecoderHandle {
  std::shared_ptr<const FieldDecoder> decoder;
};

// Throws TypeError for values of the wrong type, Error for names and fields that there are not.
// Ranges are the loader's to check.
LoaderOptions loader_options_from_python(const Dataset& dataset, const nb::dict& options);
// "ragged" or "padded".
RowLayout parse_row_layout(const std::string& name);

}  // namespace ffkit::python
