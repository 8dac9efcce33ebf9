#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

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

namespace {

Field text(std::string name, bool column = false) {
  return {.name = std::move(name), .type = FieldType::string, .column = column};
}

Field number(std::string name, bool column = false) {
  return {
      .name = std::move(name), .type = FieldType::scalar, .dtype = DType::i64, .column = column};
}

Field tensor(std::string name, DType dtype) {
  return {.name = std::move(name), .type = FieldType::tensor, .dtype = dtype};
}

Field image(std::string name) {
  return {.name = std::move(name), .type = FieldType::image};
}

Field texts(std::string name) {
  return {.name = std::move(name), .type = FieldType::list, .item = FieldType::string};
}

// What is said of every sensor.
void add_sensor(std::vector<Field>& fields, std::string_view of, bool has_sweeps) {
  fields.push_back(tensor(channel_field(of, channel::kSensorToEgo), DType::f64));
  fields.push_back(tensor(channel_field(of, channel::kEgoToGlobal), DType::f64));
  fields.push_back(number(channel_field(of, channel::kTimestamp)));
  fields.push_back(text(channel_field(of, channel::kToken)));
  fields.push_back(text(channel_field(of, channel::kFilename)));
  if (has_sweeps) fields.push_back(tensor(channel_field(of, channel::kSweeps), DType::i64));
}

void add_boxes(std::vector<Field>& fields) {
  using namespace keyframe;
  for (const char* name : {kBoxToken, kBoxInstance, kBoxCategory}) fields.push_back(texts(name));
  fields.push_back(tensor(kBoxGlobal, DType::f64));
  fields.push_back(tensor(kBoxVelocity, DType::f64));
  fields.push_back(tensor(kBoxLidar, DType::f32));
  fields.push_back(tensor(kBoxClass, DType::i64));
  fields.push_back(tensor(kBoxValid, DType::u8));
  for (const char* name : {kBoxNumLidarPoints, kBoxNumRadarPoints, kBoxVisibility, kBoxAttribute}) {
    fields.push_back(tensor(name, DType::i64));
  }
}

}  // namespace

std::string channel_field(std::string_view channel, std::string_view field) {
  return fmt::format("{}/{}", channel, field);
}

std::string can_bus_field(std::string_view message) {
  return fmt::format("can_bus/{}", message);
}

Schema keyframe_schema(const KeyframeFields& options) {
  std::vector<Field> fields = {text(keyframe::kToken, true), text(keyframe::kScene, true),
                               text(keyframe::kSceneToken),  number(keyframe::kTimestamp, true),
                               number(keyframe::kPrev),      number(keyframe::kNext),
                               text(keyframe::kLocation),    text(keyframe::kVehicle),
                               text(keyframe::kLogfile),     number(keyframe::kMap)};
  for (const std::string& camera : options.cameras) {
    fields.push_back(image(channel_field(camera, channel::kImage)));
    fields.push_back(tensor(channel_field(camera, channel::kIntrinsics), DType::f64));
    add_sensor(fields, camera, options.camera_sweeps);
  }
  fields.push_back(tensor(channel_field(kLidar, channel::kPoints), options.lidar_dtype));
  fields.push_back(tensor(channel_field(kLidar, channel::kLidarseg), DType::u8));
  fields.push_back(tensor(channel_field(kLidar, channel::kPanoptic), DType::u16));
  add_sensor(fields, kLidar, options.lidar_sweeps);
  if (options.radar) {
    for (const std::string_view radar : kRadars) {
      fields.push_back(tensor(channel_field(radar, channel::kPoints), DType::f32));
      add_sensor(fields, radar, options.radar_sweeps);
    }
  }
  add_boxes(fields);
  for (const std::string& message : options.can_bus) {
    fields.push_back(tensor(can_bus_field(message), DType::f64));
  }
  return {std::move(fields)};
}

Schema sweep_schema(DType lidar_dtype) {
  return {{text(sweep::kToken, true), text(sweep::kChannel, true), text(sweep::kScene, true),
           number(sweep::kTimestamp, true), tensor(channel::kPoints, lidar_dtype),
           tensor(sweep::kRadarPoints, DType::f32), image(channel::kImage),
           tensor(channel::kIntrinsics, DType::f64), tensor(channel::kSensorToEgo, DType::f64),
           tensor(channel::kEgoToGlobal, DType::f64), text(channel::kFilename),
           text(sweep::kSampleToken)}};
}

Schema map_schema() {
  return {{text(map::kToken, true), text(map::kLocation), text(map::kFilename), image(map::kMask)}};
}

std::string sweeps_split(std::string_view split) {
  return fmt::format("{}_sweeps", split);
}

std::string maps_split(std::string_view split) {
  return fmt::format("{}_maps", split);
}

}  // namespace ffkit::nuscenes
