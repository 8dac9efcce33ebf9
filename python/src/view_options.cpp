#include "view_options.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ffkit/base/error.h>

#include "image_options.h"
#include "loader_options.h"
#include "python_value.h"

namespace ffkit::python {
namespace {

MaskNumbers parse_mask_numbers(const std::string& name) {
  if (name == "values") return MaskNumbers::values;
  if (name == "panoptic") return MaskNumbers::panoptic;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("numbers is '{}', expected 'values' or 'panoptic'", name));
}

BoxFormat get_format(nb::handle o, const char* name) {
  return get_name(o, name, [](const auto& text) { return parse_box_format(text); });
}

RowLayout get_rows(nb::handle o) {
  return get<bool>(o, "padded") ? RowLayout::padded : RowLayout::ragged;
}

PictureField picture_field(nb::handle o) {
  // Those of ImageOptions that are no geometry.
  const ImageOptions options = image_options_from_python(o.attr("options")());
  return {.field = get<std::string>(o, "field"),
          .view = get<std::string>(o, "view"),
          .augmentations = options.augmentations,
          .output = options.output};
}

MaskField mask_field(nb::handle o) {
  return {
      .field = get<std::string>(o, "field"),
      .view = get<std::string>(o, "view"),
      .mask = {.dtype = get_name(o, "dtype", [](const auto& n) { return parse_dtype(n); }),
               .numbers = get_name(o, "numbers", parse_mask_numbers),
               .fill = get<int64_t>(o, "fill"),
               .ids = cast_value<std::map<int64_t, int64_t>>(o.attr("table")(), "MaskField.ids")}};
}

BoxesField boxes_field(nb::handle o) {
  return {
      .field = get<std::string>(o, "field"),
      .view = get<std::string>(o, "view"),
      .stored = {.format = get_format(o, "stored"), .is_relative = get<bool>(o, "stored_relative")},
      .output = {.format = get_format(o, "format"), .is_relative = get<bool>(o, "relative")},
      .min_size = get<double>(o, "min_size"),
      .min_visible = get<double>(o, "min_visible"),
      .max_boxes = get<int64_t>(o, "max_boxes"),
      .layout = get_rows(o)};
}

BoxRowsField box_rows_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .boxes = get<std::string>(o, "boxes"),
          .shape = get<std::vector<int64_t>>(o, "shape")};
}

PointsField points_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .num_points = get<int64_t>(o, "num_points"),
          .boxes = get<std::string>(o, "boxes"),
          .mirrored = get<std::vector<std::pair<int64_t, int64_t>>>(o, "mirrored")};
}

FramesField frames_field(nb::handle o) {
  return {.field = get<std::string>(o, "field"),
          .count = get<int64_t>(o, "count"),
          .stride = get<int64_t>(o, "stride"),
          .jitter = get<bool>(o, "jitter"),
          .if_short = get_name(o, "if_short", [](const auto& n) { return parse_short_video(n); }),
          .image = image_options_from_python(o.attr("image"))};
}

}  // namespace

std::vector<View> views_from_python(nb::handle views) {
  std::vector<View> made;
  for (const nb::handle view : views) {
    made.push_back({.name = cast_value<std::string>(view[0], "the name of a view"),
                    .image = image_options_from_python(view[1]),
                    .copies = cast_value<int64_t>(view[2], "the copies of a view")});
  }
  return made;
}

std::optional<ViewField> view_field_from_python(nb::handle field, const std::string& name) {
  const std::string kind = class_of(field);
  if (kind == "PictureField") return ViewField{name, picture_field(field)};
  if (kind == "MaskField") return ViewField{name, mask_field(field)};
  if (kind == "PixelMaskField")
    return ViewField{name, PixelMaskField{get<std::string>(field, "view")}};
  if (kind == "BoxesField") return ViewField{name, boxes_field(field)};
  if (kind == "BoxRowsField") return ViewField{name, box_rows_field(field)};
  if (kind == "InstanceMasksField") {
    return ViewField{name, InstanceMasksField{.field = get<std::string>(field, "field"),
                                              .boxes = get<std::string>(field, "boxes")}};
  }
  if (kind == "PointsField") return ViewField{name, points_field(field)};
  if (kind == "FramesField") return ViewField{name, frames_field(field)};
  if (kind == "FrameNumbersField")
    return ViewField{name, FrameNumbersField{get<std::string>(field, "view")}};
  return std::nullopt;
}

}  // namespace ffkit::python
