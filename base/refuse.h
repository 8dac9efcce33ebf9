// Refusals of option values, in one form: "<what> is <value>; expected <what would do>".
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "make_error.h"

namespace ffkit {

[[noreturn]] inline void refuse(std::string_view what, double value, std::string_view expected) {
  throw error_of(ErrorCode::invalid_argument, "{} is {:g}; expected {}", what, value, expected);
}

// Written so that NaN is refused too.
inline void check_between(std::string_view what, double value, double min, double max) {
  if (!(value >= min && value <= max)) refuse(what, value, fmt::format("{:g} to {:g}", min, max));
}

inline void check_probability(std::string_view what, double value) {
  check_between(what, value, 0, 1);
}

// The ranges of a crop or of what is erased: shares of the image's area and width / height or
// height / width.
template <typename Options>
void check_scale_and_ratio(std::string_view name, const Options& o) {
  const auto named = [&](const char* value) { return fmt::format("{} {}", name, value); };
  if (!(o.scale_min > 0 && o.scale_min <= 1)) {
    refuse(named("scale_min"), o.scale_min, "more than 0, at most 1");
  }
  if (!(o.scale_max >= o.scale_min && o.scale_max <= 1)) {
    refuse(named("scale_max"), o.scale_max, "scale_min to 1");
  }
  if (!(o.ratio_min > 0 && std::isfinite(o.ratio_min))) {
    refuse(named("ratio_min"), o.ratio_min, "more than 0");
  }
  if (!(o.ratio_max >= o.ratio_min && std::isfinite(o.ratio_max))) {
    refuse(named("ratio_max"), o.ratio_max, "at least ratio_min");
  }
}

}  // namespace ffkit
