// The devkit's answers for the small nuScenes data root among the shared data.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/nuscenes/geometry.h>

#include "shared_data.h"

namespace ffkit::nuscenes {

inline nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(std::ifstream(path));
}

// null is NaN.
inline double number(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

inline Vector3 vector3(const nlohmann::json& value) {
  return {number(value[0]), number(value[1]), number(value[2])};
}

inline Quaternion quaternion(const nlohmann::json& value) {
  return {value[0], value[1], value[2], value[3]};
}

inline Pose pose(const nlohmann::json& row) {
  return {vector3(row["translation"]), quaternion(row["rotation"])};
}

inline Box box(const nlohmann::json& annotation) {
  return {vector3(annotation["translation"]), vector3(annotation["size"]),
          quaternion(annotation["rotation"]), vector3(annotation["velocity"])};
}

}  // namespace ffkit::nuscenes
