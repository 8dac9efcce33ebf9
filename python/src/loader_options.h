// Options of loaders, views and pictures from Python's objects, and decoders from fields.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/image/image_options.h>
#include <ffkit/loader/loader_options.h>
#include <ffkit/loader/view.h>

namespace nb = nanobind;

namespace ffkit::python {

// Views and what follows them, from ffkit's dataclasses.

// Of (name, ImageOptions, copies or None) each.
std::vector<View> views_from_python(nb::handle views);
// Nothing for an object that is no field of a view. `name` is that of its array.
std::optional<ViewField> view_field_from_python(nb::handle field, const std::string& name);

// ffkit.ImageOptions and its parts, as in python/ffkit/_image.py, to C++.

// Throws TypeError for objects of other classes and values of other types; ranges are checked by
// validate() later.
ImageOptions image_options_from_python(nb::handle options);

// A decoder of C++ as an object of Python, such as those of ffkit.nuscenes.keyframe_fields().
struct DecoderHandle {
  std::shared_ptr<const FieldDecoder> decoder;
};

// Throws TypeError for values of the wrong type, Error for names and fields that there are not.
// Ranges are the loader's to check.
LoaderOptions loader_options_from_python(const Dataset& dataset, const nb::dict& options);

}  // namespace ffkit::python
