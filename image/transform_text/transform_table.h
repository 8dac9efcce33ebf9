// The table of transforms: the name of each, its parameters in Python's order, and what they set.
// Texts are read and shown by it, and Python's objects are read by it.
//
// A row is use(name, defaults, parameters), where parameters(options, see) calls
// see(name, member, name, member, ...) for the members of `options`, which is of the type of
// `defaults`. `see` is a Parameters.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/transform.h>

namespace ffkit {

// A parameter without a default.
template <typename T>
struct Required {
  T& member;
};
template <typename T>
Required<T> required(T& member) {
  return {member};
}

// Two members: (low, high).
struct LowHigh {
  double& low;
  double& high;
};

// 0 stands for None.
struct OrNone {
  int64_t& number;
};

// A number, or "random".
struct NumberOrRandom {
  float& number;
  bool& is_random;
};

// A number s, which is x from (-s, s); (low, high) of x; or both of x and both of y.
struct Shear {
  DegreeRange& x;
  DegreeRange& y;
};

// A number, or that of the height and of the width, which are equal.
struct Square {
  int& side;
};

// Whether None stands for the default, as for torchvision's parameters of these kinds.
template <typename T>
inline constexpr bool kNoneIsDefault =
    std::is_same_v<T, LowHigh> || std::is_same_v<T, Shear> || std::is_same_v<T, Padding> ||
    std::is_same_v<T, RgbColor> || std::is_same_v<T, FactorRange> || std::is_same_v<T, HueRange> ||
    std::is_same_v<T, std::vector<double>>;

// Calls one(name, member, is_required) for each parameter of a row; is_required is std::true_type
// or std::false_type.
template <typename One>
class Parameters {
 public:
  explicit Parameters(One one) : one_(std::move(one)) {}

  void operator()() const {}
  template <typename T, typename... More>
  void operator()(const char* name, T&& member, More&&... more) const {
    one_(name, member, std::false_type{});
    (*this)(std::forward<More>(more)...);
  }
  template <typename T, typename... More>
  void operator()(const char* name, Required<T> required, More&&... more) const {
    one_(name, required.member, std::true_type{});
    (*this)(std::forward<More>(more)...);
  }

 private:
  One one_;
};

// Steps of a Compose, ScalePad, which is a transform alone, and Compose itself. Parameters that
// torchvision has come first, with its names and in its order.
template <typename Use>
void for_each_step(const Use& use) {
  use("RandomResizedCrop", RandomResizedCrop{}, [](auto& o, const auto& see) {
    see("size", o.size, "scale", LowHigh{o.scale_min, o.scale_max}, "ratio",
        LowHigh{o.ratio_min, o.ratio_max}, "interpolation", o.interpolation, "flip_probability",
        o.flip_probability, "scaled_decode", o.scaled_decode);
  });
  use("ResizeCenterCrop", ResizeCenterCrop{}, [](auto& o, const auto& see) {
    see("resize", o.resize, "size", o.size, "interpolation", o.interpolation);
  });
  use("Resize", Resize{}, [](auto& o, const auto& see) {
    see("size", o.size, "interpolation", o.interpolation, "max_size", OrNone{o.max_size});
  });
  use("RandomCrop", RandomCrop{}, [](auto& o, const auto& see) {
    see("size", o.size, "padding", o.padding, "pad_if_needed", o.pad_if_needed, "fill", o.fill,
        "flip_probability", o.flip_probability);
  });
  use("ResizeCrop", ResizeCrop{}, [](auto& o, const auto& see) {
    see("size", o.size, "factor", LowHigh{o.factor_min, o.factor_max}, "bottom",
        LowHigh{o.bottom_min, o.bottom_max}, "centered", o.centered, "flip_probability",
        o.flip_probability, "scaled_decode", o.scaled_decode, "interpolation", o.interpolation);
  });
  use("ScalePad", ScalePad{},
      [](auto& o, const auto& see) { see("size", o.size, "factor", o.factor); });
  use("RandomHorizontalFlip", RandomHorizontalFlip{},
      [](auto& o, const auto& see) { see("p", o.probability); });
  use("RandomVerticalFlip", RandomVerticalFlip{},
      [](auto& o, const auto& see) { see("p", o.probability); });
  use("RandomRotation", RandomRotation{}, [](auto& o, const auto& see) {
    see("degrees", o.degrees, "interpolation", o.filter, "expand", o.expand, "center", o.center,
        "fill", o.fill);
  });
  use("RandomAffine", RandomAffine{}, [](auto& o, const auto& see) {
    see("degrees", o.degrees, "translate", LowHigh{o.translate_x, o.translate_y}, "scale",
        LowHigh{o.scale_min, o.scale_max}, "shear", Shear{o.shear_x, o.shear_y}, "interpolation",
        o.filter, "fill", o.fill, "center", o.center);
  });
  use("RandomPerspective", RandomPerspective{}, [](auto& o, const auto& see) {
    see("distortion_scale", o.distortion, "p", o.probability, "interpolation", o.filter, "fill",
        o.fill);
  });
  use("Pad", Pad{}, [](auto& o, const auto& see) { see("padding", o.padding, "fill", o.fill); });
  use("RandomZoomOut", RandomZoomOut{}, [](auto& o, const auto& see) {
    see("fill", o.fill, "side_range", LowHigh{o.side_min, o.side_max}, "p", o.probability);
  });
  use("RandomIoUCrop", RandomIoUCrop{}, [](auto& o, const auto& see) {
    see("min_scale", o.scale_min, "max_scale", o.scale_max, "min_aspect_ratio", o.ratio_min,
        "max_aspect_ratio", o.ratio_max, "sampler_options", o.overlaps, "trials", o.trials);
  });
  use("ScaleJitter", ScaleJitter{}, [](auto& o, const auto& see) {
    see("target_size", o.size, "scale_range", LowHigh{o.scale_min, o.scale_max}, "interpolation",
        o.interpolation);
  });
  use("FixedSizeCrop", FixedSizeCrop{},
      [](auto& o, const auto& see) { see("size", o.size, "fill", o.fill); });
  use("CenterCrop", CenterCrop{}, [](auto& o, const auto& see) { see("size", o.size); });
  use("RandomShortestSize", RandomShortestSize{}, [](auto& o, const auto& see) {
    see("min_size", o.sizes, "max_size", OrNone{o.max_size}, "interpolation", o.interpolation);
  });
  use("PadToLargest", PadToLargest{},
      [](auto& o, const auto& see) { see("size", o.size, "multiple", o.multiple); });
  use("Compose", Compose{}, [](auto& o, const auto& see) { see("steps", required(o.steps)); });
}

template <typename Use>
void for_each_augmentation(const Use& use) {
  use("ColorJitter", ColorJitter{}, [](auto& o, const auto& see) {
    see("brightness", o.brightness, "contrast", o.contrast, "saturation", o.saturation, "hue",
        o.hue);
  });
  use("RandAugment", RandAugment{}, [](auto& o, const auto& see) {
    see("num_ops", o.num_ops, "magnitude", o.magnitude, "num_magnitude_bins", o.num_magnitude_bins,
        "fill", o.fill);
  });
  use("TrivialAugmentWide", TrivialAugmentWide{}, [](auto& o, const auto& see) {
    see("num_magnitude_bins", o.num_magnitude_bins, "fill", o.fill);
  });
  use("AutoAugment", AutoAugment{},
      [](auto& o, const auto& see) { see("policy", o.policy, "fill", o.fill); });
  use("PhotoMetricDistortion", PhotoMetricDistortion{}, [](auto& o, const auto& see) {
    see("brightness_delta", o.brightness_delta, "contrast", o.contrast, "saturation", o.saturation,
        "hue_delta", o.hue_delta);
  });
  use("GaussianBlur", GaussianBlur{}, [](auto& o, const auto& see) {
    see("kernel_size", Square{o.kernel_size}, "sigma", o.sigma);
  });
  use("Solarize", Solarize{}, [](auto& o, const auto& see) { see("threshold", o.threshold); });
  use("Posterize", Posterize{}, [](auto& o, const auto& see) { see("bits", o.bits); });
  const auto no_parameters = [](auto&, const auto&) {};
  use("Equalize", Equalize{}, no_parameters);
  use("AutoContrast", AutoContrast{}, no_parameters);
  // As torchvision's, which is refused: one channel is an option of the output.
  use("Grayscale", Grayscale{.num_output_channels = 1},
      [](auto& o, const auto& see) { see("num_output_channels", o.num_output_channels); });
  use("Invert", Invert{}, no_parameters);
  use("AdjustSharpness", AdjustSharpness{},
      [](auto& o, const auto& see) { see("factor", o.factor); });
  use("Apply", Apply{}, [](auto& o, const auto& see) {
    see("probability", required(o.probability), "augmentations", required(o.augmentations));
  });
  use("OneOf", OneOf{}, [](auto& o, const auto& see) {
    see("augmentations", required(o.augmentations), "weights", o.weights);
  });
}

// Python's functions for Apply(p, Operation()).
template <typename Use>
void for_each_function(const Use& use) {
  const auto applied = [](double p, Augmentation operation) {
    return Apply{.probability = p, .augmentations = {std::move(operation)}};
  };
  const auto p_alone = [](auto& o, const auto& see) { see("p", o.probability); };
  use("RandomSolarize", applied(0.5, Solarize{}), [](auto& o, const auto& see) {
    auto& operation = std::get<Solarize>(o.augmentations.front());
    see("threshold", required(operation.threshold), "p", o.probability);
  });
  use("RandomPosterize", applied(0.5, Posterize{}), [](auto& o, const auto& see) {
    auto& operation = std::get<Posterize>(o.augmentations.front());
    see("bits", required(operation.bits), "p", o.probability);
  });
  use("RandomEqualize", applied(0.5, Equalize{}), p_alone);
  use("RandomAutocontrast", applied(0.5, AutoContrast{}), p_alone);
  use("RandomGrayscale", applied(0.1, Grayscale{}), p_alone);
  use("RandomInvert", applied(0.5, Invert{}), p_alone);
  use("RandomAdjustSharpness", applied(0.5, AdjustSharpness{}), [](auto& o, const auto& see) {
    auto& operation = std::get<AdjustSharpness>(o.augmentations.front());
    see("sharpness_factor", required(operation.factor), "p", o.probability);
  });
}

template <typename Use>
void for_erasing(const Use& use) {
  use("RandomErasing", RandomErasing{}, [](auto& o, const auto& see) {
    see("p", o.probability, "scale", LowHigh{o.scale_min, o.scale_max}, "ratio",
        LowHigh{o.ratio_min, o.ratio_max}, "value", NumberOrRandom{o.value, o.noise});
  });
}

}  // namespace ffkit
