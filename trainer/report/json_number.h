// Numbers in JSON, which has no word for those that are not finite: they are texts there, "nan",
// "inf" and "-inf".
#pragma once

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace ffkit {

inline nlohmann::ordered_json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

// Throws nlohmann's exception for anything else.
inline double number_of_json(const nlohmann::ordered_json& json) {
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return json.get<double>();
}

}  // namespace ffkit
