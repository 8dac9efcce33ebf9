// Views and what follows them, from ffkit's dataclasses.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include <ffkit/loader/view.h>

namespace nb = nanobind;

namespace ffkit::python {

// Of (name, ImageOptions, copies or None) each.
std::vector<View> views_from_python(nb::handle views);
// Nothing for an object that is no field of a view. `name` is that of its array.
std::optional<ViewField> view_field_from_python(nb::handle field, const std::string& name);

}  // namespace ffkit::python
