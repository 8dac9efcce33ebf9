// ffkit.ImageOptions and its parts, as in python/ffkit/_image.py, to C++.
#pragma once

#include <nanobind/nanobind.h>

#include <ffkit/image/image_options.h>

namespace nb = nanobind;

namespace ffkit::python {

// Throws TypeError for objects of other classes and values of other types; ranges are checked by
// validate() later.
ImageOptions image_options_from_python(nb::handle options);
// "nchw" or "nhwc".
Layout parse_layout(const std::string& name);

}  // namespace ffkit::python
