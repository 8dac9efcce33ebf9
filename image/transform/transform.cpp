#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <variant>

#include <ffkit/image/transform.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

// Keeps H * W * 3 * 4 bytes far below what an int can count.
constexpr int64_t kMaxSize = 8192;
constexpr double kMaxResize = 16;

void check_length(std::string_view what, int64_t length) {
  if (length < 1 || length > kMaxSize) {
    refuse(what, static_cast<double>(length), fmt::format("1 to {}", kMaxSize));
  }
}

void check_size(const char* name, const ImageSize& size) {
  if (size.height == size.width) return check_length(fmt::format("{} size", name), size.height);
  check_length(fmt::format("{} size.height", name), size.height);
  check_length(fmt::format("{} size.width", name), size.width);
}

void check(const RandomResizedCrop& crop) {
  check_size("RandomResizedCrop", crop.size);
  check_scale_and_ratio("RandomResizedCrop", crop);
  check_probability("RandomResizedCrop flip_probability", crop.flip_probability);
}

void check(const ResizeCenterCrop& crop) {
  check_length("ResizeCenterCrop resize", crop.resize);
  check_size("ResizeCenterCrop", crop.size);
}

void check(const Resize& resize) {
  const int64_t short_side = resize.size.short_side;
  if (resize.size.both) {
    check_size("Resize", *resize.size.both);
    if (resize.max_size == 0) return;
    throw Error(ErrorCode::invalid_argument,
                "Resize has both (height, width) and max_size; leave max_size out, or give one "
                "number for the short side");
  }
  if (short_side != 0 || resize.max_size == 0) check_length("Resize size", short_side);
  if (resize.max_size == 0) return;
  check_between("Resize max_size", static_cast<double>(resize.max_size),
                static_cast<double>(short_side + 1), kMaxSize);
}

void check_padding(const char* what, const Padding& padding) {
  for (const int64_t side : {padding.left, padding.top, padding.right, padding.bottom}) {
    check_between(what, static_cast<double>(side), 0, kMaxSize);
  }
}

void check(const RandomCrop& crop) {
  check_size("RandomCrop", crop.size);
  check_padding("RandomCrop padding", crop.padding);
  check_probability("RandomCrop flip_probability", crop.flip_probability);
}

void check(const ResizeCrop& crop) {
  check_size("ResizeCrop", crop.size);
  check_bounds("ResizeCrop factor", crop.factor_min, crop.factor_max, 1.0 / kMaxSize, kMaxResize);
  check_bounds("ResizeCrop bottom", crop.bottom_min, crop.bottom_max, 0, 0.999);
  check_probability("ResizeCrop flip_probability", crop.flip_probability);
}

void check(const ScalePad& pad) {
  check_size("ScalePad", pad.size);
  if (!(pad.factor > 0 && pad.factor <= kMaxResize)) {
    refuse("ScalePad factor", pad.factor, fmt::format("more than 0, at most {:g}", kMaxResize));
  }
}

void check_interpolation(Interpolation interpolation) {
  if (to_string(interpolation) == "unknown") {
    refuse("interpolation", static_cast<double>(interpolation),
           "bilinear, bicubic or opencv_bilinear");
  }
  if (!is_built(interpolation)) {
    throw Error(ErrorCode::unsupported,
                "interpolation opencv_bilinear needs OpenCV, which this build does not have; "
                "build with -DFFKIT_OPENCV=ON");
  }
}

void check(const RandomHorizontalFlip& flip) {
  check_probability("RandomHorizontalFlip probability", flip.probability);
}

void check(const RandomVerticalFlip& flip) {
  check_probability("RandomVerticalFlip probability", flip.probability);
}

void check_center(std::string_view step, const TurnCenter& center) {
  constexpr double kFarthest = 32768;
  if (!center) return;
  for (const double at : *center) {
    check_between(fmt::format("{} center", step), at, -kFarthest, kFarthest);
  }
}

void check(const RandomRotation& rotation) {
  check_bounds("RandomRotation degrees", rotation.degrees.min, rotation.degrees.max, -360, 360);
  check_center("RandomRotation", rotation.center);
  if (rotation.expand && rotation.center) {
    throw Error(ErrorCode::invalid_argument,
                "RandomRotation has both expand and center, but expand shows the whole picture "
                "with any center; leave one of the two out");
  }
}

void check(const RandomAffine& affine) {
  constexpr double kMaxShear = 89;
  check_center("RandomAffine", affine.center);
  check_bounds("RandomAffine degrees", affine.degrees.min, affine.degrees.max, -360, 360);
  check_between("RandomAffine translate_x", affine.translate_x, 0, 1);
  check_between("RandomAffine translate_y", affine.translate_y, 0, 1);
  check_bounds("RandomAffine scale", affine.scale_min, affine.scale_max, 0.01, 100);
  check_bounds("RandomAffine shear_x", affine.shear_x.min, affine.shear_x.max, -kMaxShear,
               kMaxShear);
  check_bounds("RandomAffine shear_y", affine.shear_y.min, affine.shear_y.max, -kMaxShear,
               kMaxShear);
}

void check(const RandomPerspective& perspective) {
  check_between("RandomPerspective distortion", perspective.distortion, 0, 1);
  check_probability("RandomPerspective probability", perspective.probability);
}

void check(const Pad& pad) {
  check_padding("Pad padding", pad.padding);
}

void check(const RandomZoomOut& zoom) {
  check_bounds("RandomZoomOut side", zoom.side_min, zoom.side_max, 1, 16);
  check_probability("RandomZoomOut probability", zoom.probability);
}

void check(const RandomIoUCrop& crop) {
  constexpr double kLeast = 1e-3;
  check_bounds("RandomIoUCrop scale", crop.scale_min, crop.scale_max, kLeast, 1);
  check_bounds("RandomIoUCrop ratio", crop.ratio_min, crop.ratio_max, kLeast, 1 / kLeast);
  check_between("RandomIoUCrop trials", crop.trials, 1, 1000);
  if (crop.overlaps.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "RandomIoUCrop has no overlaps; expected at least one, such as 0.5");
  }
  for (const double overlap : crop.overlaps) check_between("RandomIoUCrop overlap", overlap, 0, 2);
}

void check(const ScaleJitter& jitter) {
  check_size("ScaleJitter", jitter.size);
  check_bounds("ScaleJitter scale", jitter.scale_min, jitter.scale_max, 1e-3, kMaxResize);
}

void check(const FixedSizeCrop& crop) {
  check_size("FixedSizeCrop", crop.size);
}

void check(const CenterCrop& crop) {
  check_size("CenterCrop", crop.size);
}

void check(const RandomShortestSize& shortest) {
  if (shortest.sizes.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "RandomShortestSize has no sizes; expected at least one, such as 800");
  }
  for (const int64_t size : shortest.sizes) check_length("RandomShortestSize size", size);
  check_between("RandomShortestSize max_size", static_cast<double>(shortest.max_size), 0, kMaxSize);
}

void check(const PadToLargest& pad) {
  check_size("PadToLargest", pad.size);
  check_between("PadToLargest multiple", static_cast<double>(pad.multiple), 1, 1024);
}

// The size of pictures after the steps, where it is one for all.
std::optional<ImageSize> common_size(const Compose& compose) {
  std::optional<ImageSize> size;
  const auto after = [&]<typename Step>(const Step& step) {
    constexpr bool is_any =
        std::is_same_v<Step, RandomZoomOut> || std::is_same_v<Step, RandomIoUCrop> ||
        std::is_same_v<Step, ScaleJitter> || std::is_same_v<Step, RandomShortestSize>;
    if constexpr (is_any) {
      size.reset();
    } else if constexpr (std::is_same_v<Step, Resize>) {
      size = step.size.both;
    } else if constexpr (std::is_same_v<Step, RandomRotation>) {
      if (step.expand) size.reset();
    } else if constexpr (requires { step.size; }) {
      size = step.size;
    } else if constexpr (std::is_same_v<Step, Pad>) {
      if (size) {
        size->height += step.padding.top + step.padding.bottom;
        size->width += step.padding.left + step.padding.right;
      }
    }
  };
  for (const GeometryStep& step : compose.steps) std::visit(after, step);
  return size;
}

ImageSize size_after(const Compose& compose) {
  const std::optional<ImageSize> size = common_size(compose);
  if (size) return *size;
  int64_t side = 224;
  for (const GeometryStep& step : compose.steps) {
    const auto* resize = std::get_if<Resize>(&step);
    if (resize != nullptr && resize->size.short_side > 0) side = resize->size.short_side;
  }
  throw error_of(ErrorCode::invalid_argument,
                 "Compose makes pictures of different sizes; end it with a step that gives all "
                 "pictures one size, such as Resize(({}, {})), RandomResizedCrop or FixedSizeCrop",
                 side, side);
}

ImageSize size_after(const Resize& resize) {
  if (resize.size.both) return *resize.size.both;
  const int64_t side = std::max(resize.size.short_side, resize.max_size);
  throw error_of(
      ErrorCode::invalid_argument,
      "Resize({}) makes the {} side {} pixels long, so pictures have different sizes; "
      "give Resize(({}, {})) for both sides, or put a crop after it in a Compose",
      resize.size.short_side > 0 ? fmt::format("{}", side) : fmt::format("None, max_size={}", side),
      resize.size.short_side > 0 ? "short" : "long", side, side, side);
}

void check(const Compose& compose);

// Of transforms and steps alike.
template <typename Step>
void check_with_filter(const Step& step) {
  check(step);
  if constexpr (requires { step.interpolation; }) check_interpolation(step.interpolation);
}

void check(const Compose& compose) {
  constexpr size_t kMaxSteps = 64;
  if (compose.steps.empty() || compose.steps.size() > kMaxSteps) {
    refuse("the number of steps of Compose", static_cast<double>(compose.steps.size()),
           fmt::format("1 to {}", kMaxSteps));
  }
  for (const GeometryStep& step : compose.steps) {
    std::visit([](const auto& one) { check_with_filter(one); }, step);
    if (std::holds_alternative<PadToLargest>(step) && &step != &compose.steps.back()) {
      throw Error(
          ErrorCode::invalid_argument,
          "PadToLargest must be the last step of Compose; put PadToLargest after all other steps");
    }
  }
  check_size("Compose", size_after(compose));
}

bool has_floats(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
}

void check(const ImageOutput& output) {
  if (output.layout != Layout::nchw && output.layout != Layout::nhwc) {
    refuse("image output layout", static_cast<double>(output.layout), "nchw or nhwc");
  }
  if (output.channels != 1 && output.channels != 3) {
    refuse("image output channels", output.channels, "1 (grey) or 3");
  }
  switch (output.dtype) {
    case DType::u8:
    case DType::u16:
    case DType::i32:
      if (output.normalize) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} output cannot be normalised; expected normalize = false or a "
                                "dtype of f32, f16 or bf16",
                                to_string(output.dtype)));
      }
      return;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      break;
    default:
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("image output dtype is {}; expected u8, u16, i32, f16, bf16 or f32",
                              to_string(output.dtype)));
  }
  if (!output.normalize) return;
  const auto all_equal = [](const std::array<float, 3>& v) { return v[0] == v[1] && v[0] == v[2]; };
  if (output.channels == 1 && !(all_equal(output.mean) && all_equal(output.std))) {
    throw Error(ErrorCode::invalid_argument,
                "mean or std differ between channels, but the output has one channel; give the "
                "same number for all three channels, or normalize = false");
  }
  for (size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(output.mean[c])) refuse("mean", output.mean[c], "a finite number");
    if (!(output.std[c] > 0 && std::isfinite(output.std[c]))) {
      refuse("std", output.std[c], "more than 0");
    }
    // (0 - mean) / std and (1 - mean) / std: black and white must be numbers.
    constexpr double kMaxValue = 1e38;
    const double mean = output.mean[c];
    if (std::max(std::abs(mean), std::abs(1 - mean)) / output.std[c] > kMaxValue) {
      refuse("std", output.std[c],
             fmt::format("a larger number, because with a mean of {:g} the normalised values must "
                         "stay below 1e38",
                         mean));
    }
  }
}

}  // namespace

ImageSize image_size(const ImageTransform& transform) {
  return std::visit(
      [](const auto& t) {
        if constexpr (requires { size_after(t); }) {
          return size_after(t);
        } else {
          return t.size;
        }
      },
      transform);
}

bool is_random(const ImageTransform& transform) {
  const auto is_random_one = []<typename T>(const T& /*t*/) {
    return !std::is_same_v<T, Resize> && !std::is_same_v<T, ResizeCenterCrop> &&
           !std::is_same_v<T, ScalePad> && !std::is_same_v<T, Pad> &&
           !std::is_same_v<T, CenterCrop> && !std::is_same_v<T, PadToLargest>;
  };
  const auto* compose = std::get_if<Compose>(&transform);
  if (compose == nullptr) return std::visit(is_random_one, transform);
  return std::ranges::any_of(
      compose->steps, [&](const GeometryStep& step) { return std::visit(is_random_one, step); });
}

bool needs_boxes(const ImageTransform& transform) {
  const auto* compose = std::get_if<Compose>(&transform);
  return compose != nullptr && std::ranges::any_of(compose->steps, [](const GeometryStep& step) {
           return std::holds_alternative<RandomIoUCrop>(step);
         });
}

bool crops_without_flips(const ImageTransform& transform) {
  const auto is_one = []<typename T>(const T& t) {
    if constexpr (std::is_same_v<T, RandomResizedCrop> || std::is_same_v<T, RandomCrop>) {
      return t.flip_probability == 0;
    } else {
      return false;
    }
  };
  const auto* compose = std::get_if<Compose>(&transform);
  if (compose == nullptr) return std::visit(is_one, transform);
  return std::ranges::any_of(compose->steps,
                             [&](const GeometryStep& step) { return std::visit(is_one, step); });
}

const PadToLargest* padding_of(const ImageTransform& transform) {
  const auto* compose = std::get_if<Compose>(&transform);
  if (compose == nullptr || compose->steps.empty()) return nullptr;
  return std::get_if<PadToLargest>(&compose->steps.back());
}

void validate(const ImageTransform& transform, const ImageOutput& output) {
  std::visit([](const auto& t) { check_with_filter(t); }, transform);
  image_size(transform);
  check(output);
  if (std::holds_alternative<ScalePad>(transform) && output.channels == 1) {
    throw Error(ErrorCode::invalid_argument,
                "ScalePad makes pictures with 3 channels; give channels = 3, or a ResizeCrop");
  }
  if (std::holds_alternative<ScalePad>(transform) && !has_floats(output.dtype)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("ScalePad makes floats, but {} output cannot have floats; give a dtype of f32, "
                    "f16 or bf16, or a ResizeCrop",
                    to_string(output.dtype)));
  }
}

}  // namespace ffkit
