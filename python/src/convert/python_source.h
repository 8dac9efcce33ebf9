// A Source written in Python (ffkit.convert.Source).
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include <ffkit/base/error.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>

namespace ffkit::python {

// `source` is a Python object with the members that ffkit/convert.py's _PreparedSource has. It is
// called from the conversion's threads, each time with the GIL; what it raises becomes an Error of
// the sample, and the first such exception is kept for raised_by(). The object must be made and
// destroyed with the GIL.
// `pixels`: how pictures that come as pixels are stored, as parse_pixels_as() takes it.
std::unique_ptr<Source> open_python_source(nanobind::object source, const ImageStorage& images,
                                           const std::string& pixels);

// The exception that `source` has raised for the sample that ended the conversion with `error`, or
// None. With the GIL.
nanobind::object raised_by(const Source& source, const Error& error);

}  // namespace ffkit::python
