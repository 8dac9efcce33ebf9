#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/image/interpolation.h>

#include "resize/opencv_resize.h"

namespace ffkit {

std::string_view to_string(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::bilinear:
      return "bilinear";
    case Interpolation::bicubic:
      return "bicubic";
    case Interpolation::opencv_bilinear:
      return "opencv_bilinear";
  }
  return "unknown";
}

Interpolation parse_interpolation(std::string_view name) {
  for (const Interpolation interpolation : kInterpolations) {
    if (name == to_string(interpolation)) return interpolation;
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("there is no interpolation '{}'; there are bilinear, bicubic and opencv_bilinear",
                  name));
}

bool is_built(Interpolation interpolation) {
  return interpolation != Interpolation::opencv_bilinear || has_opencv();
}

}  // namespace ffkit
