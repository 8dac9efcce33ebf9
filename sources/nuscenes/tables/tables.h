// nuScenes' tables in memory: rows by number, references between them as row numbers, checked.
// Immutable once read, thread-safe.
//
//   scene ─▶ log ◀─ map          sample_data ─▶ sample ─▶ scene
//     ▲                             │    └────▶ ego_pose
//   sample ◀─ sample_annotation     └─▶ calibrated_sensor ─▶ sensor
//                └─▶ instance ─▶ category
//
// About 170 bytes a row of sample_data and as much a row of sample_annotation.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nuscenes/tables/json_rows.h"

namespace ffkit::nuscenes {

// x, y, z, qw, qx, qy, qz
using PoseNumbers = std::array<double, 7>;

// The channels of classes.h by number: 0..5 cameras, 6 the lidar, 7..11 radars.
inline constexpr uint8_t kLidarChannel = 6;
inline constexpr uint8_t kNumChannels = 12;
inline constexpr uint8_t kOtherChannel = 255;  // of no use to us
std::string_view channel_name(uint8_t channel);
uint8_t channel_number(std::string_view name);
inline bool is_camera(uint8_t channel) {
  return channel < kLidarChannel;
}
inline bool is_radar(uint8_t channel) {
  return channel > kLidarChannel && channel < kNumChannels;
}

// Tokens of a table's rows. Not copyable: the index refers to the tokens.
struct Rows {
  Rows() = default;
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  std::vector<Token> token;
  TokenIndex index;
  size_t size() const { return token.size(); }
};

// Texts one after the other.
class TextPool {
 public:
  void add(std::string_view text);
  std::string_view operator[](size_t i) const;

 private:
  std::string text_;
  std::vector<uint64_t> end_;
};

struct LogRows : Rows {
  std::vector<std::string> logfile;
  std::vector<std::string> vehicle;
  std::vector<std::string> location;
};

struct MapRows : Rows {
  std::vector<std::string> filename;
  std::vector<std::string> location;  // of its logs
  std::vector<Row> of_log;            // by row of log, kNoRow for none
};

struct SceneRows : Rows {
  std::vector<std::string> name;
  std::vector<Row> log;
  std::vector<Row> first_sample;
  std::vector<int64_t> num_samples;
};

struct CalibrationRows : Rows {
  std::vector<uint8_t> channel;
  std::vector<PoseNumbers> pose;
  std::vector<std::array<double, 9>> intrinsics;  // zeros for what is no camera
};

struct SampleRows : Rows {
  std::vector<int64_t> timestamp;
  std::vector<Row> scene;
  std::vector<Row> prev;
  std::vector<Row> next;
};

struct EgoPoseRows : Rows {
  std::vector<PoseNumbers> pose;
};

struct SampleDataRows : Rows {
  std::vector<int64_t> timestamp;
  std::vector<Row> sample;
  std::vector<Row> ego_pose;
  std::vector<Row> calibration;
  std::vector<Row> prev;
  std::vector<uint8_t> channel;
  std::vector<bool> is_key_frame;
  TextPool filename;
};

struct AnnotationRows : Rows {
  std::vector<Token> instance;
  std::vector<uint8_t> category;  // row of `categories`
  std::vector<Row> sample;
  std::vector<Row> prev;
  std::vector<Row> next;
  std::vector<std::array<double, 10>> box;  // centre, size w l h, rotation
  std::vector<int32_t> num_lidar_points;
  std::vector<int32_t> num_radar_points;
  std::vector<int16_t> visibility;  // 1..4, 0 unknown
  std::vector<int16_t>
      // position in kAttributes, -1 for none; the first where there are several, outside of the ten
      // classes
      attribute;
  // The annotations of sample i are order[first[i]] .. order[first[i + 1] - 1], in the table's
  // order.
  std::vector<Row> first;
  std::vector<Row> order;
};

// lidarseg.json and panoptic.json: the labels' file of a row of sample_data.
struct LabelFiles {
  bool is_there = false;
  std::vector<Row> sample_data;  // ascending
  std::vector<std::string> filename;

  // Empty for none.
  std::string_view of(Row row) const;
};

struct Tables {
  std::vector<std::string> categories;   // by row
  std::vector<std::string> label_names;  // by lidarseg's index; empty without
  LogRows logs;
  MapRows maps;
  SceneRows scenes;
  CalibrationRows calibrations;
  SampleRows samples;
  EgoPoseRows ego_poses;
  SampleDataRows sample_data;
  AnnotationRows annotations;
  LabelFiles lidarseg;
  LabelFiles panoptic;
  int64_t num_categories_without_label = 0;
  // Annotations with several, of categories outside of the ten classes.
  int64_t num_further_attributes = 0;
  int64_t num_other_channels = 0;  // rows of sample_data of sensors that nuScenes does not have
};

// Reads `folder`, "v1.0-mini", into `tables`, which must be new. Throws Error(not_found) with all
// tables that are missing, Error(corrupt) with table, row and remedy: no JSON, a missing or wrong
// member, a token or a scene's name that is twice, a reference to a row that is not there, prev or
// next in a circle, in another order than time or of another scene, sensor or instance, a rotation
// of length 0, a size that is not above 0.
void read_tables(const std::filesystem::path& folder, Tables& tables);

}  // namespace ffkit::nuscenes
