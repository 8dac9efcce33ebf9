#include <fmt/format.h>

#include <cmath>

#include <ffkit/format/error.h>
#include <ffkit/loader/transform.h>

namespace ffkit {
namespace {

// Keeps S * S * 3 * 4 bytes far below what an int can count.
constexpr int64_t kMaxSize = 8192;

[[noreturn]] void refuse(const char* what, double value, const char* expected) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is {:g}; expected {}", what, value, expected));
}

void check_size(const char* what, int64_t size) {
  if (size < 1 || size > kMaxSize) {
    refuse(what, static_cast<double>(size), fmt::format("1 to {}", kMaxSize).c_str());
  }
}

// Written so that NaN is refused too.
void check(const RandomResizedCrop& crop) {
  check_size("RandomResizedCrop size", crop.size);
  if (!(crop.scale_min > 0 && crop.scale_min <= 1)) {
    refuse("RandomResizedCrop scale_min", crop.scale_min, "more than 0, at most 1");
  }
  if (!(crop.scale_max >= crop.scale_min && crop.scale_max <= 1)) {
    refuse("RandomResizedCrop scale_max", crop.scale_max, "scale_min to 1");
  }
  if (!(crop.ratio_min > 0 && std::isfinite(crop.ratio_min))) {
    refuse("RandomResizedCrop ratio_min", crop.ratio_min, "more than 0");
  }
  if (!(crop.ratio_max >= crop.ratio_min && std::isfinite(crop.ratio_max))) {
    refuse("RandomResizedCrop ratio_max", crop.ratio_max, "at least ratio_min");
  }
  if (!(crop.flip_probability >= 0 && crop.flip_probability <= 1)) {
    refuse("RandomResizedCrop flip_probability", crop.flip_probability, "0 to 1");
  }
}

void check(const ResizeCenterCrop& crop) {
  check_size("ResizeCenterCrop resize", crop.resize);
  check_size("ResizeCenterCrop size", crop.size);
}

void check(const ImageOutput& output) {
  switch (output.dtype) {
    case DType::u8:
      if (output.normalize) {
        throw Error(ErrorCode::invalid_argument,
                    "u8 output cannot be normalised; expected normalize = false or a dtype of f32, "
                    "f16 or bf16");
      }
      return;
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      break;
    default:
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("image output dtype is {}; expected u8, f16, bf16 or f32",
                              to_string(output.dtype)));
  }
  if (!output.normalize) return;
  for (size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(output.mean[c])) refuse("mean", output.mean[c], "a finite number");
    if (!(output.std[c] > 0 && std::isfinite(output.std[c]))) {
      refuse("std", output.std[c], "more than 0");
    }
  }
}

}  // namespace

int64_t output_size(const ImageTransform& transform) {
  return std::visit([](const auto& t) { return t.size; }, transform);
}

void validate(const ImageTransform& transform, const ImageOutput& output) {
  std::visit([](const auto& t) { check(t); }, transform);
  check(output);
}

}  // namespace ffkit
