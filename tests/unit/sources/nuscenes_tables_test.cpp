// Tables with something wrong in them.
#include <numeric>

#include <nlohmann/json.hpp>

#include <ffkit/format/record.h>

#include "nuscenes_root_test.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

using nlohmann::json;
using testing::write_bytes;

class NuScenesBrokenTables : public testing::NuScenesRootTest {};

TEST_F(NuScenesBrokenTables, MissingTablesAreAllNamed) {
  fs::remove(table("instance"));
  fs::remove(table("sensor"));
  EXPECT_ERROR(open(), not_found);
  EXPECT_ERROR(open({.version = "v1.0-test"}), not_found);
  EXPECT_ERROR(open({.version = "v2"}), not_found);
  EXPECT_ERROR(open_nuscenes(dir_ / "none"), not_found);
}

TEST_F(NuScenesBrokenTables, BrokenReferencesNameTableAndRow) {
  const struct {
    const char* table;
    const char* key;
  } kCases[] = {
      {"sample_data", "sample_token"},
      {"sample_data", "ego_pose_token"},
      {"sample_data", "calibrated_sensor_token"},
      {"sample_data", "prev"},
      {"sample_data", "next"},
      {"sample_annotation", "instance_token"},
      {"sample_annotation", "sample_token"},
      {"sample_annotation", "prev"},
      {"sample", "next"},
      {"sample", "scene_token"},
      {"scene", "log_token"},
      {"scene", "first_sample_token"},
      {"instance", "category_token"},
      {"calibrated_sensor", "sensor_token"},
  };
  for (const auto& c : kCases) {
    const std::string before = read_file(table(c.table));
    edit(c.table, [&](json& rows) { rows[1][c.key] = std::string(32, 'f'); });
    EXPECT_ERROR(open(), corrupt, .path = table(c.table)) << c.key;
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
      EXPECT_ERROR(open(), corrupt) << name;
      write_bytes(table(name), before);
    }
  }
}

TEST_F(NuScenesBrokenTables, NeighboursOfAnotherSceneOrInstanceAreRefused) {
  for (const char* name : {"sample", "sample_data", "sample_annotation"}) {
    for (const char* key : {"prev", "next"}) {
      const std::string before = read_file(table(name));
      edit(name, [&](json& rows) {
        // The first and the last row are of different scenes, sensors and instances.
        const auto has_neighbour = [&](const json& r) { return r[key] != ""; };
        json& wrong = *std::find_if(rows.begin(), rows.end(), has_neighbour);
        wrong[key] = rows.back()["token"];
      });
      EXPECT_ERROR(open(), corrupt, .path = table(name)) << key;
      write_bytes(table(name), before);
    }
  }
}

TEST_F(NuScenesBrokenTables, PrevAndNextInTheWrongOrderAreRefused) {
  for (const char* name : {"sample", "sample_data", "sample_annotation"}) {
    const std::string before = read_file(table(name));
    edit(name, [](json& rows) {
      for (json& row : rows) std::swap(row["prev"], row["next"]);
    });
    EXPECT_ERROR(open(), corrupt, .path = table(name));
    write_bytes(table(name), before);
  }
}

TEST_F(NuScenesBrokenTables, TwoScenesOfOneNameAreRefused) {
  edit("scene", [](json& rows) { rows[1]["name"] = rows[0]["name"]; });
  EXPECT_ERROR(open(), corrupt, .path = table("scene"));
}

TEST_F(NuScenesBrokenTables, WrongMembersAreNamed) {
  const struct {
    const char* table;
    std::function<void(json&)> change;
  } kCases[] = {
      {"ego_pose", [](json& row) { row.erase("rotation"); }},
      {"ego_pose",
       [](json& row) {
         row["translation"] = {1, 2};
       }},
      {"ego_pose",
       [](json& row) {
         row["rotation"] = {0, 0, 0, 0};
       }},
      {"calibrated_sensor",
       [](json& row) {
         row["rotation"] = {1e-200, 0, 0, 0};
       }},
      {"sample_annotation", [](json& row) { row.erase("size"); }},
      {"sample", [](json& row) { row["timestamp"] = 1.5; }},
      {"sample", [](json& row) { row["token"] = "short"; }},
      {"sample_data", [](json& row) { row["is_key_frame"] = 1; }},
      {"sample_data", [](json& row) { row["filename"] = "../secret"; }},
      {"sample_annotation", [](json& row) { row["visibility_token"] = "5"; }},
      {"sample_annotation", [](json& row) { row["num_lidar_pts"] = -1; }},
      {"calibrated_sensor", [](json& row) { row["camera_intrinsic"] = {1}; }},
      {"scene", [](json& row) { row["nbr_samples"] = 7; }},
  };
  for (const auto& c : kCases) {
    const std::string before = read_file(table(c.table));
    edit(c.table, [&](json& rows) { c.change(rows[0]); });
    EXPECT_ERROR(open(), corrupt) << c.table;
    write_bytes(table(c.table), before);
  }
  edit("sample", [](json& rows) { rows.push_back(rows[0]); });
  EXPECT_ERROR(open(), corrupt);
}

// A box without size, place or direction costs itself: the keyframe and its other boxes stay.
TEST_F(NuScenesBrokenTables, BoxesThatAreNoneAreLeftOut) {
  const Dataset whole = converted({}, "mini_train");
  const json before = json::parse(read_file(table("sample_annotation")));
  const std::vector<std::pair<std::string, std::string>> kValues = {{"size", "[0, 0, 0]"},
                                                                    {"size", "[1.5, 0, 2]"},
                                                                    {"size", "[1.5, 2, -0.25]"},
                                                                    {"size", "[1.5, NaN, 2]"},
                                                                    {"size", "[1.5, null, 2]"},
                                                                    {"size", "[1.5, 2]"},
                                                                    {"size", "[]"},
                                                                    {"size", "null"},
                                                                    {"size", "[Infinity, 1, 2]"},
                                                                    {"translation", "[NaN, 1, 2]"},
                                                                    {"rotation", "[0, 0, 0, 0]"},
                                                                    {"rotation", "[1, 0, NaN, 0]"}};
  const auto boxes_of = [](const Dataset& split) {
    std::vector<int64_t> counts;
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < split.num_records(); ++i) {
      split.read(i, bytes);
      const RecordView view(split.schema(), bytes);
      counts.push_back(view.tensor(split.schema().require("boxes/lidar")).shape[0]);
      EXPECT_EQ(std::ssize(view.list(split.schema().require("boxes/token"))), counts.back());
    }
    return counts;
  };
  const std::vector<int64_t> all = boxes_of(whole);
  for (const auto& [key, value] : kValues) {
    json rows = before;
    rows[0][key] = "here";
    std::string text = rows.dump();
    write_bytes(table("sample_annotation"), text.replace(text.find("\"here\""), 6, value));
    const Dataset split = converted({}, "mini_train");
    const std::vector<int64_t> left = boxes_of(split);
    ASSERT_EQ(left.size(), all.size()) << key << value;
    EXPECT_EQ(std::accumulate(left.begin(), left.end(), int64_t{1}),
              std::accumulate(all.begin(), all.end(), int64_t{0}))
        << key << value;
    const std::string report = read_file(split.path().parent_path() / "report.jsonl");
    EXPECT_THAT(report,
                HasSubstr("annotation " + before[0]["token"].get<std::string>() + " has no size"));
    EXPECT_THAT(report, HasSubstr(kItemLeftOut));
  }
}

// As Python writes them: the message has the value, its member and where the row begins.
TEST_F(NuScenesBrokenTables, ValuesThatJsonHasNoNumberForAreNamed) {
  const std::string before = read_file(table("sample_annotation"));
  for (const char* value : {"NaN", "-Infinity"}) {
    std::string text = before;
    const size_t at = text.find(':', text.find("\"num_lidar_pts\"")) + 1;
    text.replace(at, text.find_first_of(",}", at) - at, value);
    write_bytes(table("sample_annotation"), text);
    EXPECT_ERROR(open(), corrupt);
  }
}

TEST_F(NuScenesBrokenTables, TablesThatAreNoneAreRefused) {
  const std::string before = read_file(table("sample_data"));
  for (const size_t share : {2, 3, 7}) {
    write_bytes(table("sample_data"), before.substr(0, before.size() / share));
    EXPECT_ERROR(open(), corrupt);
  }
  write_bytes(table("sample_data"), before.substr(0, before.size() - 1));
  EXPECT_ERROR(open(), corrupt);
  write_bytes(table("sample_data"), "");
  EXPECT_ERROR(open(), corrupt);
  write_bytes(table("sample_data"), before + "]");
  EXPECT_ERROR(open(), corrupt);
  write_bytes(table("sample_data"), "{}");
  EXPECT_ERROR(open(), corrupt);
  write_bytes(table("sample_data"), "[{\"token\": nonsense}]");
  EXPECT_ERROR(open(), corrupt);
}

}  // namespace
}  // namespace ffkit::nuscenes
