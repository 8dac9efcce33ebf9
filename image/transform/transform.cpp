#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <ffkit/image/transform.h>

#include "format/refuse.h"

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
  check_size("Resize", resize.size);
}

void check(const RandomCrop& crop) {
  check_size("RandomCrop", crop.size);
  for (const int64_t side :
       {crop.padding.left, crop.padding.top, crop.padding.right, crop.padding.bottom}) {
    check_between("RandomCrop padding", static_cast<double>(side), 0, kMaxSize);
  }
  check_probability("RandomCrop flip_probability", crop.flip_probability);
}

void check_order(const char* name, double min, double low, double high, double max) {
  if (low >= min && high >= low && high <= max) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("ResizeCrop {} is {:g} to {:g}; expected {:g} <= min <= max <= {:g}",
                          name, low, high, min, max));
}

void check(const ResizeCrop& crop) {
  check_size("ResizeCrop", crop.size);
  check_order("factor", 1.0 / kMaxSize, crop.factor_min, crop.factor_max, kMaxResize);
  check_order("bottom", 0, crop.bottom_min, crop.bottom_max, 0.999);
  check_probability("ResizeCrop flip_probability", crop.flip_probability);
}

void check(const ScalePad& pad) {
  check_size("ScalePad", pad.size);
  if (!(pad.factor > 0 && pad.factor <= kMaxResize)) {
    refuse("ScalePad factor", pad.factor, fmt::format("more than 0, at most {:g}", kMaxResize));
  }
}

bool has_floats(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
}

void check(const ImageOutput& output) {
  if (output.layout != Layout::nchw && output.layout != Layout::nhwc) {
    refuse("image output layout", static_cast<double>(output.layout), "nchw or nhwc");
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
             fmt::format("more, for values below 1e38 at a mean of {:g}", mean));
    }
  }
}

}  // namespace

ImageSize image_size(const ImageTransform& transform) {
  return std::visit([](const auto& t) { return t.size; }, transform);
}

Interpolation interpolation_of(const ImageTransform& transform) {
  return std::visit(
      [](const auto& t) {
        if constexpr (requires { t.interpolation; }) return t.interpolation;
        return Interpolation::bilinear;
      },
      transform);
}

void validate(const ImageTransform& transform, const ImageOutput& output) {
  std::visit([](const auto& t) { check(t); }, transform);
  const Interpolation interpolation = interpolation_of(transform);
  if (std::ranges::find(kInterpolations, interpolation) == kInterpolations.end()) {
    refuse("interpolation", static_cast<double>(interpolation),
           "bilinear, bicubic or opencv_bilinear");
  }
  if (!is_built(interpolation)) {
    throw Error(ErrorCode::unsupported,
                "interpolation opencv_bilinear needs OpenCV, which this build does not have; "
                "build with -DFFKIT_OPENCV=ON");
  }
  check(output);
  if (std::holds_alternative<ScalePad>(transform) && !has_floats(output.dtype)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("ScalePad makes floats, which {} output cannot hold; expected a dtype of "
                    "f32, f16 or bf16, or a ResizeCrop",
                    to_string(output.dtype)));
  }
}

}  // namespace ffkit
