#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"

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

namespace {

// Numbers of scenes, first and last: nuscenes-devkit 1.2.0, nuscenes/utils/splits.py.
struct SceneRange {
  uint16_t first, last;
};
// clang-format off
constexpr SceneRange kTrain[] = {
    {1, 2}, {4, 11}, {19, 34}, {41, 76}, {120, 135}, {138, 139}, {149, 152}, {154, 155},
    {157, 168}, {170, 185}, {187, 188}, {190, 196}, {199, 200}, {202, 204}, {206, 214},
    {218, 220}, {222, 222}, {224, 264}, {283, 306}, {315, 318}, {321, 321}, {323, 324},
    {328, 328}, {347, 386}, {388, 403}, {405, 408}, {410, 459}, {461, 465}, {467, 469},
    {471, 472}, {474, 480}, {499, 502}, {504, 515}, {517, 518}, {525, 539}, {541, 546},
    {566, 566}, {568, 568}, {570, 578}, {580, 580}, {582, 600}, {639, 679}, {681, 681},
    {683, 689}, {695, 698}, {700, 701}, {703, 719}, {726, 728}, {730, 731}, {733, 741},
    {744, 744}, {746, 747}, {749, 752}, {757, 765}, {767, 769}, {786, 787}, {789, 792},
    {803, 806}, {808, 813}, {815, 817}, {819, 822}, {847, 856}, {858, 858}, {860, 866},
    {868, 873}, {875, 878}, {880, 880}, {882, 903}, {945, 945}, {947, 947}, {949, 949},
    {952, 953}, {955, 961}, {975, 984}, {988, 992}, {994, 1025}, {1044, 1058}, {1074, 1102},
    {1104, 1110}};
constexpr SceneRange kVal[] = {
    {3, 3}, {12, 18}, {35, 36}, {38, 39}, {92, 110}, {221, 221}, {268, 278}, {329, 332},
    {344, 346}, {519, 524}, {552, 565}, {625, 627}, {629, 630}, {632, 638}, {770, 771},
    {775, 775}, {777, 778}, {780, 784}, {794, 800}, {802, 802}, {904, 917}, {919, 931},
    {962, 963}, {966, 969}, {971, 972}, {1059, 1073}};
constexpr SceneRange kTest[] = {
    {77, 91}, {111, 119}, {140, 140}, {142, 148}, {265, 266}, {279, 282}, {307, 314},
    {333, 343}, {481, 498}, {547, 551}, {601, 604}, {606, 624}, {827, 831}, {833, 842},
    {844, 846}, {932, 933}, {935, 943}, {1026, 1043}};
constexpr SceneRange kMiniTrain[] = {
    {61, 61}, {553, 553}, {655, 655}, {757, 757}, {796, 796}, {1077, 1077}, {1094, 1094},
    {1100, 1100}};
constexpr SceneRange kMiniVal[] = {
    {103, 103}, {916, 916}};
// clang-format on
constexpr int count(std::span<const SceneRange> ranges) {
  int sum = 0;
  for (const auto [first, last] : ranges) sum += last - first + 1;
  return sum;
}
static_assert(count(kTrain) == 700 && count(kVal) == 150 && count(kTest) == 150);
static_assert(count(kMiniTrain) == 8 && count(kMiniVal) == 2);

constexpr std::pair<std::string_view, std::span<const SceneRange>> kSplits[] = {
    {"train", kTrain},
    {"val", kVal},
    {"test", kTest},
    {"mini_train", kMiniTrain},
    {"mini_val", kMiniVal}};

constexpr std::string_view kOfTrainval[] = {"train", "val"};
constexpr std::string_view kOfTest[] = {"test"};
constexpr std::string_view kOfMini[] = {"mini_train", "mini_val"};

}  // namespace

std::span<const std::string_view> splits_of_version(std::string_view version) {
  if (version == "v1.0-trainval") return kOfTrainval;
  if (version == "v1.0-test") return kOfTest;
  if (version == "v1.0-mini") return kOfMini;
  throw error_of(
      ErrorCode::invalid_argument,
      "'{}' is not a version of nuScenes; the versions are v1.0-trainval, v1.0-test and v1.0-mini",
      version);
}

std::vector<std::string> scenes_of_split(std::string_view split) {
  std::vector<std::string_view> names;
  for (const auto& [name, ranges] : kSplits) {
    names.push_back(name);
    if (name != split) continue;
    std::vector<std::string> scenes;
    for (const auto [first, last] : ranges) {
      for (int number = first; number <= last; ++number) {
        scenes.push_back(fmt::format("scene-{:04}", number));
      }
    }
    return scenes;
  }
  throw error_of(ErrorCode::invalid_argument, "'{}' is not a split of nuScenes; the splits are {}",
                 split, fmt::join(names, ", "));
}

std::string split_there(const std::filesystem::path& folder, const std::string& split) {
  const std::string mini = "mini_" + split;
  return !split.empty() && !has_split(folder, split) && has_split(folder, mini) ? mini : split;
}

}  // namespace ffkit::nuscenes
