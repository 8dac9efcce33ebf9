// A made-up data root with something wrong in it, and options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/record.h>

#include "expect_error.h"
#include "nuscenes_root.h"
#include "temp_dir.h"

namespace ffkit::nuscenes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::NuScenesTables;
using testing::TempDir;
using testing::write_bytes;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class NuScenesDamage : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_nuscenes_root(root()); }

  fs::path root() const { return dir_ / "root"; }
  fs::path table(const std::string& name) const { return root() / "v1.0-mini" / (name + ".json"); }
  void edit(const std::string& name, const std::function<void(json&)>& change) const {
    json rows = json::parse(read_text(table(name)));
    change(rows);
    std::ofstream(table(name)) << rows;
  }
  std::unique_ptr<Source> open(const NuScenesOptions& options = {}) const {
    return open_nuscenes(root(), options);
  }
  std::string first_file(const std::string& folder) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(root() / folder)) {
      files.push_back(entry.path().string());
    }
    return *std::min_element(files.begin(), files.end());
  }
  // Converts everything; the records of a split, field by field.
  Dataset converted(const NuScenesOptions& options, const std::string& split,
                    const ConvertOptions& convert_options = {}) {
    const fs::path folder = dir_ / ("data" + std::to_string(num_converted_++));
    convert(*open(options), folder, convert_options);
    return Dataset::open(folder, split);
  }

  TempDir dir_;
  int num_converted_ = 0;
};

TEST_F(NuScenesDamage, MissingTablesAreAllNamed) {
  fs::remove(table("instance"));
  fs::remove(table("sensor"));
  EXPECT_ERROR(open(), not_found, "lacks instance.json, sensor.json; unpack the metadata");
  EXPECT_ERROR(open({.version = "v1.0-test"}), not_found, "(there is v1.0-mini)");
  EXPECT_ERROR(open({.version = "v2"}), invalid_argument, "no version of nuScenes");
  EXPECT_ERROR(open_nuscenes(dir_ / "none"), not_found, "no such folder");
}

TEST_F(NuScenesDamage, BrokenReferencesNameTableAndRow) {
  const struct {
    const char* table;
    const char* key;
    const char* message;
  } kCases[] = {
      {"sample_data", "sample_token", "is not in sample.json"},
      {"sample_data", "ego_pose_token", "is not in ego_pose.json"},
      {"sample_data", "calibrated_sensor_token", "is not in calibrated_sensor.json"},
      {"sample_data", "prev", "is not in the table"},
      {"sample_data", "next", "is not in the table"},
      {"sample_annotation", "instance_token", "is not in instance.json"},
      {"sample_annotation", "sample_token", "is not in sample.json"},
      {"sample_annotation", "prev", "is not in the table"},
      {"sample", "next", "is not in the table"},
      {"sample", "scene_token", "is not in scene.json"},
      {"scene", "log_token", "is not in log.json"},
      {"scene", "first_sample_token", "is not in sample.json"},
      {"instance", "category_token", "is not in category.json"},
      {"calibrated_sensor", "sensor_token", "is not in sensor.json"},
  };
  for (const auto& c : kCases) {
    const std::string before = read_text(table(c.table));
    std::string row;
    edit(c.table, [&](json& rows) {
      rows[1][c.key] = std::string(32, 'f');
      row = rows[1]["token"];
    });
    EXPECT_ERROR(open(), corrupt, c.message) << c.table << " " << c.key;
    EXPECT_ERROR(open(), corrupt, "row " + row);
    EXPECT_ERROR(open(), corrupt, table(c.table).string());
    EXPECT_ERROR(open(), corrupt, "unpack the metadata");
    write_bytes(table(c.table), before);
  }
  EXPECT_NO_THROW(open());
}

TEST_F(NuScenesDamage, CirclesAreRefused) {
  for (const char* name : {"sample", "sample_data", "sample_annotation"}) {
    for (const char* key : {"prev", "next"}) {
      const std::string before = read_text(table(name));
      edit(name, [&](json& rows) {
        std::map<std::string, json*> by_token;
        for (json& row : rows) by_token[row["token"]] = &row;
        // The end of a chain leads back to the row before it.
        for (json& row : rows) {
          const std::string other = row[key];
          if (other.empty() || by_token.at(other)->at(key) != "") continue;
          by_token.at(other)->at(key) = row["token"];
          return;
        }
        FAIL();
      });
      EXPECT_ERROR(open(), corrupt, std::string("following '") + key + "' from it leads back")
          << name;
      write_bytes(table(name), before);
    }
  }
}

TEST_F(NuScenesDamage, WrongMembersAreNamed) {
  const struct {
    const char* table;
    std::function<void(json&)> change;
    const char* message;
  } kCases[] = {
      {"ego_pose", [](json& row) { row.erase("rotation"); }, "has no 'rotation'"},
      {"ego_pose",
       [](json& row) {
         row["translation"] = {1, 2};
       },
       "2 numbers instead of 3"},
      {"ego_pose",
       [](json& row) {
         row["rotation"] = {0, 0, 0, 0};
       },
       "'rotation' is zero"},
      {"sample", [](json& row) { row["timestamp"] = 1.5; }, "which is no integer"},
      {"sample", [](json& row) { row["token"] = "short"; }, "no token of 32 hexadecimal digits"},
      {"sample_data", [](json& row) { row["is_key_frame"] = 1; }, "neither true nor false"},
      {"sample_data", [](json& row) { row["filename"] = "../secret"; }, "no file in the data set"},
      {"sample_annotation", [](json& row) { row["visibility_token"] = "5"; }, "'5' instead of 1"},
      {"sample_annotation", [](json& row) { row["num_lidar_pts"] = -1; }, "'num_lidar_pts' is -1"},
      {"calibrated_sensor", [](json& row) { row["camera_intrinsic"] = {1}; }, "1 numbers instead"},
      {"scene", [](json& row) { row["nbr_samples"] = 7; }, "has 7 samples by scene.json, but 3"},
  };
  for (const auto& c : kCases) {
    const std::string before = read_text(table(c.table));
    edit(c.table, [&](json& rows) { c.change(rows[0]); });
    EXPECT_ERROR(open(), corrupt, c.message) << c.table;
    write_bytes(table(c.table), before);
  }
  edit("sample", [](json& rows) { rows.push_back(rows[0]); });
  EXPECT_ERROR(open(), corrupt, "the token is in the table twice");
}

TEST_F(NuScenesDamage, TablesThatAreNoneAreRefused) {
  const std::string before = read_text(table("sample_data"));
  for (const size_t share : {2, 3, 7}) {
    write_bytes(table("sample_data"), before.substr(0, before.size() / share));
    EXPECT_ERROR(open(), corrupt, "the file was cut short");
  }
  write_bytes(table("sample_data"), before.substr(0, before.size() - 1));
  EXPECT_ERROR(open(), corrupt, "the file was cut short");
  write_bytes(table("sample_data"), "");
  EXPECT_ERROR(open(), corrupt, "the file was cut short");
  write_bytes(table("sample_data"), before + "]");
  EXPECT_ERROR(open(), corrupt, "found ']'");
  write_bytes(table("sample_data"), "{}");
  EXPECT_ERROR(open(), corrupt, "found '{'");
  write_bytes(table("sample_data"), "[{\"token\": nonsense}]");
  EXPECT_ERROR(open(), corrupt, "a row is no JSON");
}

TEST_F(NuScenesDamage, MissingFilesAreCountedBySensor) {
  fs::remove(first_file("samples/CAM_BACK"));
  fs::remove(first_file("samples/LIDAR_TOP"));
  write_bytes(first_file("sweeps/RADAR_FRONT"), "");
  const int num_sweeps = 2 * 2 * 2 + 2 * 2 * 5;  // of lidar and radars
  EXPECT_ERROR(open(), not_found,
               "3 of the " + std::to_string(2 * 3 * 12 + num_sweeps) + " files are missing");
  EXPECT_ERROR(open(), not_found, "CAM_BACK 1 of 6, LIDAR_TOP 1 of 14, RADAR_FRONT 1 of 10");
  EXPECT_ERROR(open(), not_found, "samples/");
  EXPECT_ERROR(open(), not_found, "--allow-partial");
  EXPECT_FALSE(fs::exists(dir_ / "data0"));

  const Dataset keyframes = converted({.allow_partial = true}, "mini_train");
  EXPECT_EQ(keyframes.num_records(), 3);
  const Schema& schema = keyframes.schema();
  int num_null = 0;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < 3; ++i) {
    keyframes.read(i, bytes);
    const RecordView record(schema, bytes);
    for (const char* name : {"CAM_BACK/image", "LIDAR_TOP/points"}) {
      num_null += record.is_null(schema.require(name)) ? 1 : 0;
    }
    EXPECT_FALSE(record.is_null(schema.require("CAM_BACK/intrinsics")));
  }
  EXPECT_EQ(num_null, 2);
}

TEST_F(NuScenesDamage, KeyframesWithoutAnyFileAreLeftOut) {
  const std::string gone = std::to_string(NuScenesTables::time_of(0, 1));
  for (const auto& entry : fs::recursive_directory_iterator(root() / "samples")) {
    if (entry.path().string().find(gone) != std::string::npos) fs::remove(entry.path());
  }
  const auto source = open({.allow_partial = true});
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 keyframes have no file at all")));
  const Dataset keyframes = converted({.allow_partial = true}, "mini_train");
  ASSERT_EQ(keyframes.num_records(), 2);
  std::vector<std::byte> bytes;
  keyframes.read(0, bytes);
  const RecordView record(keyframes.schema(), bytes);
  EXPECT_EQ(record.scalar<int64_t>(keyframes.schema().require("next")), -1);
}

TEST_F(NuScenesDamage, FilesOfPointsAreChecked) {
  const std::string lidar = first_file("samples/LIDAR_TOP");
  write_bytes(lidar, std::string(203, 'x'));
  EXPECT_ERROR(open(), corrupt, lidar + ": has 203 bytes, which is no multiple of 20");
  write_bytes(lidar, testing::lidar_points(4));
  const std::string radar = first_file("samples/RADAR_FRONT");
  std::string pcd = testing::radar_pcd(3);
  write_bytes(radar, pcd.substr(0, pcd.size() - 2));
  EXPECT_ERROR(convert(*open(), dir_ / "x", {}), corrupt, radar);
  write_bytes(radar, testing::radar_pcd(3));
  const std::string image = first_file("samples/CAM_FRONT");
  write_bytes(image, "no picture");
  EXPECT_ERROR(convert(*open(), dir_ / "y", {}), unsupported, image);
}

TEST_F(NuScenesDamage, SensorsAndSweepsAreOptional) {
  const auto source = open({.cameras = {"CAM_BACK"},
                            .all_cameras = false,
                            .radar = false,
                            .lidar_sweeps = 0,
                            .camera_sweeps = 1,
                            .lidar_dtype = DType::f16});
  const Schema schema = source->schema();
  EXPECT_GE(schema.index_of("CAM_BACK/sweeps"), 0);
  for (const char* name : {"CAM_FRONT/image", "RADAR_FRONT/points", "LIDAR_TOP/sweeps"}) {
    EXPECT_EQ(schema.index_of(name), -1) << name;
  }
  EXPECT_EQ(schema.fields[schema.require("LIDAR_TOP/points")].dtype, DType::f16);
  EXPECT_EQ(source->splits()[1].name, "mini_train_sweeps");
  EXPECT_EQ(source->splits()[1].num_samples, 2);  // of one camera
  EXPECT_ERROR(open({.cameras = {"CAM_TOP"}, .all_cameras = false}), invalid_argument, "no camera");
  EXPECT_ERROR(open({.lidar_sweeps = -1}), invalid_argument, "0 .. 100");
  EXPECT_ERROR(open({.lidar_dtype = DType::f64}), invalid_argument, "f32 or f16");
}

TEST_F(NuScenesDamage, CanBusMessagesGoToTheKeyframeThatFollows) {
  const int64_t time = NuScenesTables::time_of(0, 0);
  const auto message = [&](int64_t after) {
    return json{{"utime", time + after}, {"pos", {after, 2}}, {"speed", 0.5}};
  };
  // In no order of time; keyframes are 500 ms apart.
  write_bytes(root() / "can_bus/scene-0061_pose.json",
              json{message(600'000), message(-5), message(500'000), message(1)}.dump());
  const auto source = open();
  EXPECT_THAT(source->notes(), Contains(HasSubstr("(pose); 1 scenes have none")));
  EXPECT_EQ(source->facts(0).at("can_bus/pose"), "utime,pos.0,pos.1,speed");
  const Dataset keyframes = converted({}, "mini_train");
  const size_t field = keyframes.schema().require("can_bus/pose");
  const std::vector<std::vector<double>> wanted = {{-5}, {1, 500'000}, {600'000}};
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < 3; ++i) {
    keyframes.read(static_cast<int64_t>(i), bytes);
    const TensorView rows = RecordView(keyframes.schema(), bytes).tensor(field);
    ASSERT_EQ(rows.shape, (std::vector<int64_t>{static_cast<int64_t>(wanted[i].size()), 4}));
    for (size_t j = 0; j < wanted[i].size(); ++j) {
      std::array<double, 4> row{};
      std::memcpy(row.data(), &rows.data[j * sizeof(row)], sizeof(row));
      EXPECT_EQ(row, (std::array<double, 4>{static_cast<double>(time) + wanted[i][j], wanted[i][j],
                                            2, 0.5}));
    }
  }
  const Dataset others = converted({}, "mini_val");
  others.read(0, bytes);
  EXPECT_TRUE(RecordView(others.schema(), bytes).is_null(others.schema().require("can_bus/pose")));
  write_bytes(root() / "can_bus/scene-0061_pose.json",
              "[{\"utime\": 1, \"speed\": 2}, {\"utime\": 3}]");
  EXPECT_ERROR(convert(*open(), dir_ / "z", {}), corrupt, "a message has no 'speed'");
}

TEST_F(NuScenesDamage, IntrinsicsAreScaledWithTheImage) {
  const Dataset keyframes = converted({.images = {.max_resolution = 8}}, "mini_val");
  std::vector<std::byte> bytes;
  keyframes.read(0, bytes);
  const RecordView record(keyframes.schema(), bytes);
  const TensorView matrix = record.tensor(keyframes.schema().require("CAM_FRONT/intrinsics"));
  std::array<double, 9> numbers{};
  ASSERT_EQ(matrix.data.size(), sizeof(numbers));
  std::memcpy(numbers.data(), matrix.data.data(), sizeof(numbers));
  EXPECT_DOUBLE_EQ(numbers[0], 1266.4 / 4);  // 32 pixels become 8
  EXPECT_DOUBLE_EQ(numbers[2], 816.2 / 4);
  EXPECT_DOUBLE_EQ(numbers[5], 491.5 / 4);
  EXPECT_EQ(numbers[8], 1);
  ImageDecoder decoder;
  EXPECT_EQ(decoder.read_info(record.bytes(keyframes.schema().require("CAM_FRONT/image"))).width,
            8);
}

TEST_F(NuScenesDamage, HalvesAreTheNearest) {
  const Dataset halves = converted({.lidar_dtype = DType::f16}, "mini_val_sweeps");
  const Dataset floats = converted({}, "mini_val_sweeps");
  std::vector<std::byte> a;
  std::vector<std::byte> b;
  halves.read(0, a);
  floats.read(0, b);
  const size_t field = halves.schema().require("points");
  EXPECT_EQ(RecordView(halves.schema(), a).string(halves.schema().require("channel")), "LIDAR_TOP");
  const TensorView half = RecordView(halves.schema(), a).tensor(field);
  const TensorView whole = RecordView(floats.schema(), b).tensor(field);
  EXPECT_EQ(half.shape, whole.shape);
  EXPECT_EQ(half.data.size() * 2, whole.data.size());
  write_bytes(first_file("samples/LIDAR_TOP"),
              std::string("\0\0\x80\x47", 4) + std::string(16, '\0'));  // 65536
  EXPECT_ERROR(converted({.lidar_dtype = DType::f16}, "mini_val"), unsupported, "f16 cannot hold");
}

TEST_F(NuScenesDamage, ThreadsDoNotChangeTheOutput) {
  const std::string one =
      converted({}, "mini_train", {.num_threads = 1, .zstd_level = 3}).fingerprint();
  EXPECT_EQ(converted({}, "mini_train", {.num_threads = 7, .zstd_level = 3}).fingerprint(), one);
  EXPECT_EQ(converted({}, "mini_train", {.num_threads = 2, .resume = true, .zstd_level = 3})
                .fingerprint(),
            one);
}

TEST_F(NuScenesDamage, RecordsKeepTheirNumbers) {
  EXPECT_FALSE(open()->splits()[0].is_training);  // not shuffled
  EXPECT_ERROR(convert(*open(), dir_ / "skip", {.on_error = OnError::skip}), invalid_argument,
               "refer to each other by number");
  convert(*open(), dir_ / "a", {});
  convert(*open({.radar = true, .lidar_sweeps = 1}), dir_ / "b", {});
  EXPECT_ERROR(merge_datasets(dir_ / "c", {dir_ / "a", dir_ / "b"}, {}), invalid_argument,
               "refer to each other by number");
}

TEST_F(NuScenesDamage, OtherScenesAreLeftOut) {
  edit("scene", [](json& rows) { rows[1]["name"] = "scene-0001"; });
  const auto source = open();
  EXPECT_EQ(source->splits()[0].name, "mini_train");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of the 2 scenes are of no official split")));
  edit("scene", [](json& rows) { rows[0]["name"] = "scene-0002"; });
  EXPECT_ERROR(open(), invalid_argument, "none of the 2 scenes is of an official split");
}

}  // namespace
}  // namespace ffkit::nuscenes
