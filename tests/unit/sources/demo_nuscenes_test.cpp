// The made-up nuScenes root: its tables, its files, and the folder it is written into.
#include <nlohmann/json.hpp>

#include <ffkit/nuscenes/classes.h>
#include <ffkit/sources/demo.h>
#include <ffkit/sources/nuscenes.h>
#include <ffkit/sources/registry.h>

#include "sources/demo_nuscenes/scene.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

using nlohmann::json;
using testing::files_of;

// TMPDIR for the time of a test.
class TemporaryFolderIs {
 public:
  explicit TemporaryFolderIs(const fs::path& folder) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryFolderIs() { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
  TemporaryFolderIs(const TemporaryFolderIs&) = delete;
  TemporaryFolderIs& operator=(const TemporaryFolderIs&) = delete;

 private:
  std::optional<std::string> before_;
};

class DemoNuScenes : public ::testing::Test {
 protected:
  static DemoNuScenesOptions small() {
    return {.num_train_scenes = 2, .num_val_scenes = 1, .num_keyframes = 3, .width = 64};
  }
  DemoNuScenesOptions kept() const {
    DemoNuScenesOptions options = small();
    options.root = dir_ / "root";
    return options;
  }
  fs::path temporary() const {
    fs::create_directories(dir_ / "tmp");
    return dir_ / "tmp";
  }
  json table(const std::string& name) const {
    return json::parse(testing::read_file(dir_ / "root/v1.0-trainval" / (name + ".json")));
  }

  testing::TempDir dir_;
};

constexpr size_t kNumSamples = 9;  // of 3 scenes

TEST_F(DemoNuScenes, TablesHaveTheRowsOfEverySensorAndObject) {
  make_demo_nuscenes(kept(), {});
  const std::map<std::string, size_t> kCounts = {
      {"attribute", 8},  {"category", 23},    {"visibility", 4},
      {"sensor", 12},    {"log", 2},          {"map", 1},
      {"scene", 3},      {"sample", 9},       {"calibrated_sensor", 24},
      {"ego_pose", 108}, {"sample_data", 108}};
  for (const auto& [name, count] : kCounts) EXPECT_EQ(table(name).size(), count) << name;
  const json scenes = table("scene");
  EXPECT_EQ(scenes[0]["name"], nuscenes::scenes_of_split("train")[0]);
  EXPECT_EQ(scenes[2]["name"], nuscenes::scenes_of_split("val")[0]);
  const size_t num_instances = table("instance").size();
  EXPECT_GE(num_instances, 3 * 5U);
  EXPECT_LE(num_instances, 3 * nuscenes::demo::kMaxObjects);
  EXPECT_EQ(table("sample_annotation").size(), 3 * num_instances);
  std::set<std::string> tokens;
  size_t num_rows = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "root/v1.0-trainval")) {
    const std::string name = entry.path().stem();
    if (name == "ego_pose" || name == "visibility")
      continue;  // as nuScenes: those of sample_data; 1 .. 4
    for (const json& row : table(name)) tokens.insert(row["token"]);
    num_rows += table(name).size();
  }
  EXPECT_EQ(tokens.size(), num_rows);
  for (const json& row : table("sample_data")) {
    EXPECT_GT(fs::file_size(dir_ / "root" / std::string(row["filename"])), 0U);
  }
}

// Follows `next` from each row without `prev`; all rows are in such chains, of three.
void expect_chains(const json& rows, const std::string& time) {
  std::map<std::string, json> by_token;
  for (const json& row : rows) by_token[row["token"]] = row;
  size_t num_seen = 0;
  for (const json& first : rows) {
    if (first["prev"] != "") continue;
    const json* row = &first;
    size_t length = 1;
    while ((*row)["next"] != "") {
      const json& next = by_token.at((*row)["next"]);
      ASSERT_EQ(next["prev"], (*row)["token"]);
      if (!time.empty()) {
        ASSERT_EQ(int64_t(next[time]) - int64_t((*row)[time]), 500'000);
      }
      row = &next;
      ++length;
    }
    EXPECT_EQ(length, 3U);
    num_seen += length;
  }
  EXPECT_EQ(num_seen, rows.size());
}

TEST_F(DemoNuScenes, RowsAreChained) {
  make_demo_nuscenes(kept(), {});
  expect_chains(table("sample"), "timestamp");
  expect_chains(table("sample_data"), "timestamp");
  expect_chains(table("sample_annotation"), "");
  std::map<std::string, json> annotations;
  for (const json& row : table("sample_annotation")) annotations[row["token"]] = row;
  for (const json& instance : table("instance")) {
    const json& first = annotations.at(instance["first_annotation_token"]);
    const json& last = annotations.at(instance["last_annotation_token"]);
    EXPECT_EQ(first["prev"], "");
    EXPECT_EQ(last["next"], "");
    EXPECT_EQ(first["instance_token"], instance["token"]);
    EXPECT_EQ(last["instance_token"], instance["token"]);
    EXPECT_EQ(instance["nbr_annotations"], 3);
  }
}

TEST_F(DemoNuScenes, ObjectsStandOnTheGroundAndMoveAsTheirAttributesSay) {
  DemoNuScenesOptions options = kept();
  options.num_train_scenes = 12;
  make_demo_nuscenes(options, {});
  std::map<std::string, std::string> attributes;
  for (const json& row : table("attribute")) attributes[row["token"]] = row["name"];
  std::map<std::string, json> annotations;
  for (const json& row : table("sample_annotation")) annotations[row["token"]] = row;
  std::set<std::string> seen;
  int64_t num_points = 0;
  for (const auto& [token, row] : annotations) {
    EXPECT_DOUBLE_EQ(row["translation"][2], double(row["size"][2]) / 2);
    num_points += int64_t(row["num_lidar_pts"]);
    if (row["next"] == "") continue;
    const json& next = annotations.at(row["next"]);
    const double dx = double(next["translation"][0]) - double(row["translation"][0]);
    const double dy = double(next["translation"][1]) - double(row["translation"][1]);
    const std::string attribute =
        row["attribute_tokens"].empty() ? "" : attributes.at(row["attribute_tokens"][0]);
    seen.insert(attribute);
    const bool moves = attribute.ends_with(".moving") || attribute == "cycle.with_rider";
    EXPECT_EQ(std::hypot(dx, dy) > 0.25, moves) << attribute;  // 0.5 m/s
  }
  EXPECT_EQ(seen, (std::set<std::string>{"", "vehicle.moving", "vehicle.parked",
                                         "pedestrian.moving", "pedestrian.standing",
                                         "cycle.with_rider", "cycle.without_rider"}));
  EXPECT_GT(num_points, 10 * int64_t(annotations.size()));
}

TEST_F(DemoNuScenes, ObjectsTouchNeitherEachOtherNorTheVehicle) {
  using namespace nuscenes;
  for (uint64_t number = 0; number < 20; ++number) {
    const demo::Scene scene = demo::draw_scene(7, number, 5);
    EXPECT_GE(scene.objects.size(), 5U);
    size_t num_near = 0;
    for (double time = 0; time < 5; time += 0.25) {
      const Pose ego = scene.path.pose_at(time);
      for (const demo::Object& object : scene.objects) {
        const Box box = object.box_at(time);
        const double distance =
            std::hypot(box.center[0] - ego.translation[0], box.center[1] - ego.translation[1]);
        EXPECT_GT(distance, 2.5);
        num_near += distance < 30 ? 1 : 0;
        for (const demo::Object& other : scene.objects) {
          if (&other == &object) continue;
          for (const Vector3& corner : corners(other.box_at(time))) {
            EXPECT_FALSE(contains(box, corner));
          }
        }
      }
    }
    EXPECT_GT(num_near, scene.objects.size() * 20 / 2);
  }
}

// The road is where the vehicle drives, on straight ways and in both turns.
TEST_F(DemoNuScenes, TheRoadFollowsTheVehicle) {
  for (const double curvature : {0.0, 0.02, -0.02}) {
    const nuscenes::demo::EgoPath path(300, 400, 2.5, 5, curvature);
    for (const double time : {0.0, 1.0, 4.0}) {
      const nuscenes::Vector3 at = path.pose_at(time).translation;
      EXPECT_NEAR(path.lateral(at[0], at[1]), 0, 1e-9);
      EXPECT_NEAR(path.along(at[0], at[1]), 5 * time, 1e-9);
      const double yaw = path.yaw_at(time);
      EXPECT_NEAR(path.lateral(at[0] - 2 * std::sin(yaw), at[1] + 2 * std::cos(yaw)), 2, 1e-9);
    }
  }
}

TEST_F(DemoNuScenes, IsTheSameForAnyNumberOfThreadsAndAnyFolder) {
  DemoNuScenesOptions options = kept();
  convert(*make_demo_nuscenes(options, {.num_threads = 1}), dir_ / "a", {.num_threads = 1});
  options.root = dir_ / "again";
  convert(*make_demo_nuscenes(options, {.num_threads = 3}), dir_ / "b", {.num_threads = 3});
  convert(*make_demo_nuscenes(small(), {}), dir_ / "c", {});
  const auto root = files_of(dir_ / "root");
  EXPECT_EQ(root.size(), 13 + 1 + 3 + 1 + 12 * kNumSamples);  // tables, map, CAN bus, note, samples
  EXPECT_EQ(root, files_of(dir_ / "again"));
  EXPECT_EQ(files_of(dir_ / "a"), files_of(dir_ / "b"));
  EXPECT_EQ(files_of(dir_ / "a"), files_of(dir_ / "c"));
  options.root = dir_ / "other";
  make_demo_nuscenes(options, {.seed = 1});
  EXPECT_NE(root.at("v1.0-trainval/sample_annotation.json"),
            files_of(dir_ / "other").at("v1.0-trainval/sample_annotation.json"));
}

TEST_F(DemoNuScenes, TheRootIsAnOrdinaryOne) {
  convert(*make_demo_nuscenes(kept(), {}), dir_ / "demo", {});
  const auto source = open_nuscenes(dir_ / "root");
  convert(*source, dir_ / "ordinary", {});
  for (const char* split : {"train", "val", "train_maps", "val_maps"}) {
    EXPECT_EQ(testing::read_file(dir_ / "demo" / split / "shard-00000.ffr"),
              testing::read_file(dir_ / "ordinary" / split / "shard-00000.ffr"));
  }
  EXPECT_EQ(source->splits().size(), 4U);
  EXPECT_EQ(source->splits()[0].num_samples, 6);
}

// A conversion that is begun again lists the same samples, though their files were written again.
TEST_F(DemoNuScenes, AConversionGoesOn) {
  const ConvertOptions resume{.resume = true};
  convert(*make_demo_nuscenes(small(), {}), dir_ / "data", resume);
  EXPECT_TRUE(convert(*make_demo_nuscenes(small(), {}), dir_ / "data", resume).was_finished);
  EXPECT_TRUE(convert(*make_demo_nuscenes(kept(), {}), dir_ / "data", resume).was_finished);
}

TEST_F(DemoNuScenes, ARootThatIsThereIsUsedWhenItIsOfTheSameNumbers) {
  make_demo_nuscenes(kept(), {});
  const fs::path note = dir_ / "root/made_by.txt";
  EXPECT_EQ(testing::read_file(note),
            "ffconvert demo --kind nuscenes --scenes 2 --val-scenes 1 --frames 3 --size 64 --seed "
            "0\n");
  const auto time = fs::last_write_time(note);
  make_demo_nuscenes(kept(), {});
  EXPECT_EQ(fs::last_write_time(note), time);
  DemoNuScenesOptions other = kept();
  EXPECT_ERROR(make_demo_nuscenes(other, {.seed = 1}), invalid_argument);
  other.root = dir_ / "root/made_by.txt";
  EXPECT_ERROR(make_demo_nuscenes(other, {.seed = 1}), io);
}

TEST_F(DemoNuScenes, TheTemporaryFolderIsRemoved) {
  const TemporaryFolderIs folder(temporary());
  {
    const auto source = make_demo_nuscenes(small(), {});
    EXPECT_FALSE(fs::is_empty(temporary()));
    EXPECT_ERROR(convert(*source, dir_ / "data", {.max_record_bytes = 4096}), unsupported,
                 .subject = sample);
  }
  EXPECT_TRUE(fs::is_empty(temporary()));
  // Stopped while it is written.
  const std::atomic<bool> stop = true;
  const ConvertOptions stopped{.cancel = &stop};
  DemoNuScenesOptions options = small();
  EXPECT_ERROR(make_demo_nuscenes(options, stopped), cancelled);
  EXPECT_TRUE(fs::is_empty(temporary()));
  fs::create_directory(dir_ / "mine");
  options.root = dir_ / "mine";
  EXPECT_ERROR(make_demo_nuscenes(options, stopped), cancelled);
  EXPECT_TRUE(fs::is_empty(dir_ / "mine"));
  options.root = dir_ / "new";
  EXPECT_ERROR(make_demo_nuscenes(options, stopped), cancelled);
  EXPECT_FALSE(fs::exists(dir_ / "new"));
  const TemporaryFolderIs nowhere(dir_ / "nowhere");
  EXPECT_ERROR(make_demo_nuscenes(small(), {}), io);
}

TEST_F(DemoNuScenes, RefusesValuesOutOfRange) {
  EXPECT_ERROR(make_demo_nuscenes({.num_train_scenes = 0}, {}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(make_demo_nuscenes({.num_val_scenes = 151}, {}), invalid_argument,
               .subject = argument);
  EXPECT_ERROR(make_demo_nuscenes({.num_keyframes = 1}, {}), invalid_argument, .subject = argument);
  EXPECT_ERROR(make_demo_nuscenes({.width = 48}, {}), invalid_argument);
  EXPECT_ERROR(make_demo_nuscenes({.width = 200}, {}), invalid_argument);
}

TEST_F(DemoNuScenes, OptionsOfTheOtherKindAreRefused) {
  using Given = std::vector<std::pair<std::string, OptionValue>>;
  const auto check = [](const Given& given) {
    KindConversion conversion(source_kind("demo"));
    for (const auto& [name, value] : given) conversion.table().find(name)->give(value);
    conversion.check();
  };
  const std::pair<std::string, OptionValue> is_driving = {"kind", std::string("nuscenes")};
  check({});
  check({{"size", int64_t{100}}, {"classes", int64_t{3}}});
  check({{"kind", std::string("pictures")}});
  check({is_driving, {"size", int64_t{160}}, {"frames", int64_t{3}}});
  EXPECT_ERROR(check({{"kind", std::string("coco")}}), invalid_argument, .subject = argument);
  EXPECT_ERROR(check({{"size", int64_t{15}}}), invalid_argument, .subject = argument);
  for (const char* name : {"classes", "images", "val-images"}) {
    EXPECT_ERROR(check({is_driving, {name, int64_t{10}}}), invalid_argument, .subject = argument);
  }
  for (const char* name : {"scenes", "val-scenes", "frames"}) {
    EXPECT_ERROR(check({{name, int64_t{10}}}), invalid_argument, .subject = argument);
  }
  EXPECT_ERROR(check({{"root", std::string("r")}}), invalid_argument, .subject = argument);
  EXPECT_ERROR(check({is_driving, {"size", int64_t{104}}}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
