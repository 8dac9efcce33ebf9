#include "image_options.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>

#include "image_values.h"
#include "python_code.h"
#include "python_value.h"
#include "transforms.h"

namespace ffkit::python {
namespace {

// Python's limit of recursion, for what stands in one another.
class RecursiveCall {
 public:
  RecursiveCall() {
    if (Py_EnterRecursiveCall(" in augmentations") != 0) throw nb::python_error();
  }
  ~RecursiveCall() { Py_LeaveRecursiveCall(); }
  RecursiveCall(const RecursiveCall&) = delete;
  RecursiveCall& operator=(const RecursiveCall&) = delete;
};

Augmentation augmentation_from_python(nb::handle o);

std::vector<Augmentation> augmentations_from_python(nb::handle list) {
  const RecursiveCall call;
  std::vector<Augmentation> augmentations;
  for (const nb::handle one : list) augmentations.push_back(augmentation_from_python(one));
  return augmentations;
}

OneOf one_of_from_python(nb::handle o) {
  OneOf one_of{.augmentations = augmentations_from_python(o.attr("augmentations"))};
  for (const nb::handle weight : o.attr("weights")) {
    one_of.weights.push_back(cast_value<double>(weight, "OneOf.weights"));
  }
  return one_of;
}

std::optional<Augmentation> operation_from_python(const std::string& name, nb::handle o) {
  if (name == "GaussianBlur") {
    return GaussianBlur{.sigma = get_range<SigmaRange>(o, "sigma"),
                        .kernel_size = get<int>(o, "kernel_size")};
  }
  if (name == "Solarize") return Solarize{.threshold = get<double>(o, "threshold")};
  if (name == "Posterize") return Posterize{.bits = get<int>(o, "bits")};
  if (name == "Equalize") return Equalize{};
  if (name == "AutoContrast") return AutoContrast{};
  if (name == "Grayscale") return Grayscale{};
  if (name == "Invert") return Invert{};
  if (name == "AdjustSharpness") return AdjustSharpness{.factor = get<double>(o, "factor")};
  if (name == "AutoAugment") {
    return AutoAugment{
        .policy = get_name(o, "policy",
                           [](const auto& policy) { return parse_auto_augment_policy(policy); }),
        .fill = get_fill(o)};
  }
  if (name == "Apply") {
    return Apply{.probability = get<double>(o, "probability"),
                 .augmentations = augmentations_from_python(o.attr("augmentations"))};
  }
  if (name == "OneOf") return one_of_from_python(o);
  return std::nullopt;
}

Augmentation augmentation_from_python(nb::handle o) {
  const std::string name = class_of(o);
  if (name == "ColorJitter") {
    return ColorJitter{.brightness = get_range<FactorRange>(o, "brightness"),
                       .contrast = get_range<FactorRange>(o, "contrast"),
                       .saturation = get_range<FactorRange>(o, "saturation"),
                       .hue = get_range<HueRange>(o, "hue")};
  }
  if (name == "RandAugment") {
    return RandAugment{.num_ops = get<int>(o, "num_ops"),
                       .magnitude = get<int>(o, "magnitude"),
                       .num_magnitude_bins = get<int>(o, "num_magnitude_bins"),
                       .fill = get_array<uint8_t, 3>(o, "fill")};
  }
  if (name == "TrivialAugmentWide") {
    return TrivialAugmentWide{.num_magnitude_bins = get<int>(o, "num_magnitude_bins"),
                              .fill = get_array<uint8_t, 3>(o, "fill")};
  }
  if (name == "PhotoMetricDistortion") {
    return PhotoMetricDistortion{.brightness_delta = get<double>(o, "brightness_delta"),
                                 .contrast = get_range<FactorRange>(o, "contrast"),
                                 .saturation = get_range<FactorRange>(o, "saturation"),
                                 .hue_delta = get<double>(o, "hue_delta")};
  }
  if (name == "PythonAugmentation") {
    return std::shared_ptr<const PixelTransform>(make_python_augmentation(o));
  }
  if (auto operation = operation_from_python(name, o)) return *std::move(operation);
  throw nb::type_error(
      fmt::format("{} is no augmentation; expected one of ffkit's, such as ColorJitter, or a "
                  "PythonAugmentation",
                  nb::cast<std::string>(nb::repr(o)))
          .c_str());
}

RandomErasing erasing_from_python(nb::handle o) {
  const auto [scale_min, scale_max] = get_pair<double>(o, "scale");
  const auto [ratio_min, ratio_max] = get_pair<double>(o, "ratio");
  const bool noise = nb::isinstance<nb::str>(o.attr("value"));
  return {.probability = get<double>(o, "probability"),
          .scale_min = scale_min,
          .scale_max = scale_max,
          .ratio_min = ratio_min,
          .ratio_max = ratio_max,
          .value = noise ? 0 : get<float>(o, "value"),
          .noise = noise};
}

}  // namespace

Layout parse_layout(const std::string& name) {
  if (name == "nchw") return Layout::nchw;
  if (name == "nhwc") return Layout::nhwc;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("layout is '{}', expected 'nchw' or 'nhwc'", name));
}

ImageOptions image_options_from_python(nb::handle options) {
  if (class_of(options) != "ImageOptions") {
    throw nb::type_error(fmt::format("the image options are {}; expected ffkit.ImageOptions, whose "
                                     "first argument is the transform",
                                     class_of(options))
                             .c_str());
  }
  ImageOptions image;
  image.transform = transform_from_python(options.attr("transform"));
  image.augmentations = augmentations_from_python(options.attr("augment"));
  const nb::object erasing = options.attr("erasing");
  if (!erasing.is_none()) image.erasing = erasing_from_python(erasing);
  image.output.dtype =
      get_name(options, "dtype", [](const auto& name) { return parse_dtype(name); });
  image.output.layout = get_name(options, "layout", parse_layout);
  image.output.channels = get<int>(options, "channels");
  image.output.normalize = get<bool>(options, "normalize");
  image.output.mean = get_array<float, 3>(options, "mean");
  image.output.std = get_array<float, 3>(options, "std");
  return image;
}

}  // namespace ffkit::python
