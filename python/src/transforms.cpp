#include "transforms.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "image_values.h"

namespace ffkit::python {
namespace {

WarpFilter get_filter(nb::handle object) {
  return get_name(object, "filter", [](const auto& name) { return parse_warp_filter(name); });
}

RandomResizedCrop random_resized_crop(nb::handle o) {
  const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
  const auto [ratio_min, ratio_max] = get_pair<double>(o, "ratio");
  return {.size = get_size(o, "size"),
          .scale_min = scale_min,
          .scale_max = scale_max,
          .ratio_min = ratio_min,
          .ratio_max = ratio_max,
          .flip_probability = get<double>(o, "flip_probability"),
          .scaled_decode = get<bool>(o, "scaled_decode"),
          .interpolation = get_interpolation(o)};
}

ResizeCrop resize_crop(nb::handle o) {
  const auto [factor_min, factor_max] = get_pair<double>(o, "factor");
  const auto [bottom_min, bottom_max] = get_pair<double>(o, "bottom");
  return {.size = get_size(o, "size"),
          .factor_min = factor_min,
          .factor_max = factor_max,
          .bottom_min = bottom_min,
          .bottom_max = bottom_max,
          .centered = get<bool>(o, "centered"),
          .flip_probability = get<double>(o, "flip_probability"),
          .scaled_decode = get<bool>(o, "scaled_decode"),
          .interpolation = get_interpolation(o)};
}

TurnCenter get_center(nb::handle o) {
  if (o.attr("center").is_none()) return std::nullopt;
  const auto [x, y] = get_pair<double>(o, "center");
  return std::array{x, y};
}

RandomAffine random_affine(nb::handle o) {
  const auto [translate_x, translate_y] = get_pair<double>(o, "translate");
  const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
  return {.degrees = get_range<DegreeRange>(o, "degrees"),
          .translate_x = translate_x,
          .translate_y = translate_y,
          .scale_min = scale_min,
          .scale_max = scale_max,
          .shear_x = get_range<DegreeRange>(o, "shear_x"),
          .shear_y = get_range<DegreeRange>(o, "shear_y"),
          .filter = get_filter(o),
          .fill = get_fill(o),
          .center = get_center(o)};
}

RandomIoUCrop random_iou_crop(nb::handle o) {
  const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
  const auto [ratio_min, ratio_max] = get_pair<double>(o, "ratio");
  RandomIoUCrop crop{.scale_min = scale_min,
                     .scale_max = scale_max,
                     .ratio_min = ratio_min,
                     .ratio_max = ratio_max,
                     .overlaps = {},
                     .trials = get<int>(o, "trials")};
  for (const nb::handle overlap : o.attr("overlaps")) {
    crop.overlaps.push_back(cast_value<double>(overlap, "RandomIoUCrop.overlaps"));
  }
  return crop;
}

RandomShortestSize random_shortest_size(nb::handle o) {
  RandomShortestSize shortest{.sizes = {}, .interpolation = get_interpolation(o)};
  for (const nb::handle size : o.attr("sizes")) {
    shortest.sizes.push_back(cast_value<int64_t>(size, "RandomShortestSize.sizes"));
  }
  if (!o.attr("max_size").is_none()) shortest.max_size = get<int64_t>(o, "max_size");
  return shortest;
}

std::optional<GeometryStep> crop_from_python(const std::string& name, nb::handle o) {
  if (name == "RandomResizedCrop") return random_resized_crop(o);
  if (name == "ResizeCenterCrop") {
    return ResizeCenterCrop{.resize = get<int64_t>(o, "resize"),
                            .size = get_size(o, "size"),
                            .interpolation = get_interpolation(o)};
  }
  if (name == "Resize") {
    return Resize{.size = get_size(o, "size"), .interpolation = get_interpolation(o)};
  }
  if (name == "RandomCrop") {
    return RandomCrop{.size = get_size(o, "size"),
                      .padding = get_padding(o),
                      .fill = get_fill(o),
                      .flip_probability = get<double>(o, "flip_probability")};
  }
  if (name == "ResizeCrop") return resize_crop(o);
  return std::nullopt;
}

std::optional<GeometryStep> step_from_python(const std::string& name, nb::handle o) {
  if (name == "RandomHorizontalFlip") return RandomHorizontalFlip{get<double>(o, "probability")};
  if (name == "RandomVerticalFlip") return RandomVerticalFlip{get<double>(o, "probability")};
  if (name == "RandomRotation") {
    return RandomRotation{.degrees = get_range<DegreeRange>(o, "degrees"),
                          .filter = get_filter(o),
                          .fill = get_fill(o),
                          .expand = get<bool>(o, "expand"),
                          .center = get_center(o)};
  }
  if (name == "RandomAffine") return random_affine(o);
  if (name == "RandomPerspective") {
    return RandomPerspective{.distortion = get<double>(o, "distortion"),
                             .probability = get<double>(o, "probability"),
                             .filter = get_filter(o),
                             .fill = get_fill(o)};
  }
  if (name == "Pad") return Pad{.padding = get_padding(o), .fill = get_fill(o)};
  if (name == "RandomZoomOut") {
    const auto [side_min, side_max] = get_pair<double>(o, "side");
    return RandomZoomOut{.side_min = side_min,
                         .side_max = side_max,
                         .probability = get<double>(o, "probability"),
                         .fill = get_fill(o)};
  }
  if (name == "RandomIoUCrop") return random_iou_crop(o);
  if (name == "ScaleJitter") {
    const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
    return ScaleJitter{.size = get_size(o, "size"),
                       .scale_min = scale_min,
                       .scale_max = scale_max,
                       .interpolation = get_interpolation(o)};
  }
  if (name == "FixedSizeCrop") {
    return FixedSizeCrop{.size = get_size(o, "size"), .fill = get_fill(o)};
  }
  if (name == "PadToLargest") {
    return PadToLargest{.size = get_size(o, "size"), .multiple = get<int64_t>(o, "multiple")};
  }
  if (name == "CenterCrop") return CenterCrop{get_size(o, "size")};
  if (name == "RandomShortestSize") return random_shortest_size(o);
  if (name == "ResizeShortSide") {
    ResizeShortSide resize{.size = get<int64_t>(o, "size"), .interpolation = get_interpolation(o)};
    if (!o.attr("max_size").is_none()) resize.max_size = get<int64_t>(o, "max_size");
    return resize;
  }
  return crop_from_python(name, o);
}

Compose compose_from_python(nb::handle o) {
  Compose compose;
  for (const nb::handle one : o.attr("steps")) {
    std::optional<GeometryStep> step = step_from_python(class_of(one), one);
    if (!step) {
      throw nb::type_error(fmt::format("{} is no step of a Compose; expected a crop, a resize, a "
                                       "flip or another of ffkit's, such as RandomRotation",
                                       nb::cast<std::string>(nb::repr(one)))
                               .c_str());
    }
    compose.steps.push_back(*std::move(step));
  }
  return compose;
}

}  // namespace

ImageTransform transform_from_python(nb::handle o) {
  const std::string name = class_of(o);
  if (name == "Compose") return compose_from_python(o);
  if (name == "ScalePad") {
    return ScalePad{.size = get_size(o, "size"), .factor = get<double>(o, "factor")};
  }
  std::optional<ImageTransform> transform;
  if (const auto crop = crop_from_python(name, o)) {
    std::visit(
        [&](const auto& one) {
          if constexpr (requires { transform.emplace(one); }) transform.emplace(one);
        },
        *crop);
  }
  if (transform) return *std::move(transform);
  if (step_from_python(name, o)) {
    throw nb::type_error(
        fmt::format("{} is a step; put it into a Compose, with a step that gives a size",
                    nb::cast<std::string>(nb::repr(o)))
            .c_str());
  }
  throw nb::type_error(
      fmt::format("{} is no transform; expected RandomResizedCrop, ResizeCenterCrop, Resize, "
                  "RandomCrop, ResizeCrop, ScalePad or a Compose of steps",
                  nb::cast<std::string>(nb::repr(o)))
          .c_str());
}

}  // namespace ffkit::python
