#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/interpolation.h>

#include "base/enum_names.h"
#include "resize/opencv_resize.h"

namespace ffkit {

constexpr EnumName<Interpolation> kInterpolationNames[] = {
    {Interpolation::bilinear, "bilinear"},
    {Interpolation::bicubic, "bicubic"},
    {Interpolation::opencv_bilinear, "opencv_bilinear"}};
std::string_view to_string(Interpolation interpolation) {
  return name_of(kInterpolationNames, interpolation);
}

Interpolation parse_interpolation(std::string_view name) {
  return value_of(kInterpolationNames, name, "interpolation");
}

constexpr EnumName<WarpFilter> kWarpFilterNames[] = {{WarpFilter::nearest, "nearest"},
                                                     {WarpFilter::bilinear, "bilinear"},
                                                     {WarpFilter::bicubic, "bicubic"}};
std::string_view to_string(WarpFilter filter) {
  return name_of(kWarpFilterNames, filter);
}

WarpFilter parse_warp_filter(std::string_view name) {
  return value_of(kWarpFilterNames, name, "filter");
}

bool is_built(Interpolation interpolation) {
  return interpolation != Interpolation::opencv_bilinear || has_opencv();
}

}  // namespace ffkit
