// Tables with something wrong in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "sources/nuscenes_root_test.h"

namespace ffkit::nuscenes {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::read_file;
using testing::write_bytes;

class NuScenesBrokenTables : public testing::NuScenesRootTest {};

TEST_F(NuScenesBrokenTables, MissingTablesAreAllNamed) {
  fs::remove(table("instance"));
  fs::remove(table("sensor"));
  EXPECT_ERROR(open(), not_found, "lacks instance.json, sensor.json; unpack the metadata");
  EXPECT_ERROR(open({.version = "v1.0-test"}), not_found, "(there is v1.0-mini)");
  EXPECT_ERROR(open({.version = "v2"}), not_found, "own scenes have their splits in splits.json");
  EXPECT_ERROR(open_nuscenes(dir_ / "none"), not_found, "no such folder");
}

TEST_F(NuScenesBrokenTables, BrokenReferencesNameTableAndRow) {
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
    const std::string before = read_file(table(c.table));
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

TEST_F(NuScenesBrokenTables, CirclesAreRefused) {
  for (const char* name : {"sample", "sample_data", "sample_annotation"}) {
    for (const char* key : {"prev", "next"}) {
      const std::string before = read_file(table(name));
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

TEST_F(NuScenesBrokenTables, NeighboursOfAnotherSceneOrInstanceAreRefused) {
  const struct {
    const char* table;
    const char* groups;
  } kCases[] = {
      {"sample", "scene"}, {"sample_data", "sensor or scene"}, {"sample_annotation", "instance"}};
  for (const auto& c : kCases) {
    for (const char* key : {"prev", "next"}) {
      const std::string before = read_file(table(c.table));
      std::string row;
      edit(c.table, [&](json& rows) {
        // The first and the last row are of different scenes, sensors and instances.
        const auto has_neighbour = [&](const json& r) { return r[key] != ""; };
        json& wrong = *std::find_if(rows.begin(), rows.end(), has_neighbour);
        wrong[key] = rows.back()["token"];
        row = wrong["token"];
      });
      EXPECT_ERROR(open(), corrupt, std::string("is of another ") + c.groups) << c.table << key;
      EXPECT_ERROR(open(), corrupt, "row " + row + ": its " + key);
      EXPECT_ERROR(open(), corrupt, table(c.table).string());
      write_bytes(table(c.table), before);
    }
  }
}

TEST_F(NuScenesBrokenTables, PrevAndNextInTheWrongOrderAreRefused) {
  for (const char* name : {"sample", "sample_data", "sample_annotation"}) {
    const std::string before = read_file(table(name));
    edit(name, [](json& rows) {
      for (json& row : rows) std::swap(row["prev"], row["next"]);
    });
    EXPECT_ERROR(open(), corrupt, "than itself; unpack the metadata") << name;
    EXPECT_ERROR(open(), corrupt, table(name).string());
    write_bytes(table(name), before);
  }
}

TEST_F(NuScenesBrokenTables, TwoScenesOfOneNameAreRefused) {
  edit("scene", [](json& rows) { rows[1]["name"] = rows[0]["name"]; });
  EXPECT_ERROR(open(), corrupt, "its name 'scene-0061' is that of row");
  EXPECT_ERROR(open(), corrupt, table("scene").string());
}

TEST_F(NuScenesBrokenTables, WrongMembersAreNamed) {
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
       "'rotation' has length 0, so it is no rotation"},
      {"calibrated_sensor",
       [](json& row) {
         row["rotation"] = {1e-200, 0, 0, 0};
       },
       "so it is no rotation"},
      {"sample_annotation",
       [](json& row) {
         row["rotation"] = {0, 0, 0, 0};
       },
       "'rotation' has length 0, so it is no rotation"},
      {"sample_annotation",
       [](json& row) {
         row["size"] = {1.5, 0, 2};
       },
       "'size' has 0, which is not above 0"},
      {"sample_annotation",
       [](json& row) {
         row["size"] = {1.5, 2, -0.25};
       },
       "'size' has -0.25, which is not above 0"},
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
    const std::string before = read_file(table(c.table));
    edit(c.table, [&](json& rows) { c.change(rows[0]); });
    EXPECT_ERROR(open(), corrupt, c.message) << c.table;
    write_bytes(table(c.table), before);
  }
  edit("sample", [](json& rows) { rows.push_back(rows[0]); });
  EXPECT_ERROR(open(), corrupt, "the token is in the table twice");
}

TEST_F(NuScenesBrokenTables, TablesThatAreNoneAreRefused) {
  const std::string before = read_file(table("sample_data"));
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

}  // namespace
}  // namespace ffkit::nuscenes
