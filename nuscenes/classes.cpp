#include <algorithm>
#include <utility>

#include <ffkit/nuscenes/classes.h>

namespace ffkit::nuscenes {
namespace {

// nuscenes-devkit, eval/detection/utils.py.
constexpr std::pair<std::string_view, std::string_view> kClassOfCategory[] = {
    {"movable_object.barrier", "barrier"},
    {"vehicle.bicycle", "bicycle"},
    {"vehicle.bus.bendy", "bus"},
    {"vehicle.bus.rigid", "bus"},
    {"vehicle.car", "car"},
    {"vehicle.construction", "construction_vehicle"},
    {"vehicle.motorcycle", "motorcycle"},
    {"human.pedestrian.adult", "pedestrian"},
    {"human.pedestrian.child", "pedestrian"},
    {"human.pedestrian.construction_worker", "pedestrian"},
    {"human.pedestrian.police_officer", "pedestrian"},
    {"movable_object.trafficcone", "traffic_cone"},
    {"vehicle.trailer", "trailer"},
    {"vehicle.truck", "truck"}};

template <typename Names>
int position(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

}  // namespace

int class_of_category(std::string_view category) {
  for (const auto& [from, to] : kClassOfCategory) {
    if (from == category) return class_number(to);
  }
  return -1;
}

int class_number(std::string_view name) {
  return position(kClasses, name);
}

int attribute_number(std::string_view name) {
  return position(kAttributes, name);
}

}  // namespace ffkit::nuscenes
