// Files that are missing or damaged.
#include <nlohmann/json.hpp>

#include "nuscenes_root_test.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

using testing::NuScenesTables;
using testing::write_bytes;

class NuScenesDamage : public testing::NuScenesRootTest {};

TEST_F(NuScenesDamage, MissingFilesAreCountedBySensor) {
  fs::remove(first_file("samples/CAM_BACK"));
  fs::remove(first_file("samples/LIDAR_TOP"));
  write_bytes(first_file("sweeps/RADAR_FRONT"), "");
  EXPECT_ERROR(open(), not_found);
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
  EXPECT_THAT(source->notes(), Contains(HasSubstr("leaves out 1 keyframes")));
  const Dataset keyframes = converted({.allow_partial = true}, "mini_train");
  ASSERT_EQ(keyframes.num_records(), 2);
  std::vector<std::byte> bytes;
  keyframes.read(0, bytes);
  const RecordView record(keyframes.schema(), bytes);
  EXPECT_EQ(record.scalar<int64_t>(keyframes.schema().require("next")), -1);
}

TEST_F(NuScenesDamage, KeyframesBehindOneThatIsLeftOutMoveUp) {
  const std::string gone = std::to_string(NuScenesTables::time_of(0, 0));
  for (const auto& entry : fs::recursive_directory_iterator(root() / "samples")) {
    if (entry.path().string().find(gone) != std::string::npos) fs::remove(entry.path());
  }
  const Dataset keyframes = converted({.allow_partial = true}, "mini_train");
  ASSERT_EQ(keyframes.num_records(), 2);
  const auto neighbours = [&](int64_t number) {
    std::vector<std::byte> bytes;
    keyframes.read(number, bytes);
    const RecordView record(keyframes.schema(), bytes);
    return std::pair(record.scalar<int64_t>(keyframes.schema().require("prev")),
                     record.scalar<int64_t>(keyframes.schema().require("next")));
  };
  EXPECT_EQ(neighbours(0), std::pair(int64_t{-1}, int64_t{1}));
  EXPECT_EQ(neighbours(1), std::pair(int64_t{0}, int64_t{-1}));
}

TEST_F(NuScenesDamage, SweepsAndMapsThatAreNotThereHaveNoRecord) {
  const auto num_sweeps = [&] {
    const auto source = open({.allow_partial = true});
    EXPECT_EQ(source->splits().at(1).name, "mini_train_sweeps");
    return source->splits()[1].num_samples;
  };
  const int64_t before = num_sweeps();
  fs::remove(first_file("sweeps/LIDAR_TOP"));
  EXPECT_EQ(num_sweeps(), before - 1);
  fs::remove(root() / "maps/m.png");
  EXPECT_THAT(open({.allow_partial = true})->notes(),
              Contains(::testing::StartsWith("1 of the 1 map masks are missing")));
}

TEST_F(NuScenesDamage, FilesOfPointsAreChecked) {
  const std::string lidar = first_file("samples/LIDAR_TOP");
  write_bytes(lidar, std::string(203, 'x'));
  EXPECT_ERROR(open(), corrupt, .path = lidar);
  write_bytes(lidar, testing::lidar_points(4));
  const std::string radar = first_file("samples/RADAR_FRONT");
  std::string pcd = testing::radar_pcd(3);
  write_bytes(radar, pcd.substr(0, pcd.size() - 2));
  EXPECT_ERROR(convert(*open(), dir_ / "x", {}), corrupt, .path = radar, .subject = sample);
  write_bytes(radar, testing::radar_pcd(3));
  const std::string image = first_file("samples/CAM_FRONT");
  write_bytes(image, "no picture");
  EXPECT_ERROR(convert(*open(), dir_ / "y", {}), unsupported, .path = image, .subject = sample);
}

TEST_F(NuScenesDamage, FilesThatChangeAfterTheyWereListedAreNamed) {
  for (const char* folder : {"samples/CAM_FRONT", "samples/LIDAR_TOP", "samples/RADAR_FRONT"}) {
    const auto source = open();
    const fs::path file = dir_ / first_file(folder);
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
    EXPECT_ERROR(convert(*source, dir_ / "x", {}), not_found, .path = file, .subject = sample);
  }
}

TEST_F(NuScenesDamage, FilesThatVanishAreNamedOnce) {
  const auto source = open();
  const std::string image = first_file("samples/CAM_FRONT");
  fs::remove(image);
  EXPECT_ERROR(convert(*source, dir_ / "x", {}), not_found, .path = image, .subject = sample);
}

// Null fields of all records of a set, by name.
std::map<std::string, int> null_fields(const fs::path& folder, const std::string& split) {
  const Dataset dataset = Dataset::open(folder, split);
  std::map<std::string, int> counts;
  std::vector<std::byte> bytes;
  for (int64_t i = 0; i < dataset.num_records(); ++i) {
    dataset.read(i, bytes);
    const RecordView record(dataset.schema(), bytes);
    for (size_t field = 0; field < dataset.schema().fields.size(); ++field) {
      if (record.is_null(field)) ++counts[dataset.schema().fields[field].name];
    }
  }
  return counts;
}

TEST_F(NuScenesDamage, FilesThatAreCutBecomeEmptyFieldsOfAPartialSet) {
  const std::map<std::string, std::string> cut = {
      {first_file("samples/LIDAR_TOP"), std::string(203, 'x')},
      {first_file("samples/RADAR_FRONT"), testing::radar_pcd(3).substr(0, 400)},
      {first_file("samples/CAM_FRONT"), testing::jpeg_picture(1, 32).substr(0, 100)},
      {first_file("sweeps/RADAR_BACK_LEFT"), "cut"}};
  for (const auto& [file, bytes] : cut) {
    const std::string whole = read_file(file);
    write_bytes(file, bytes);
    // The advice is one that works.
    EXPECT_ERROR(convert(*open(), dir_ / "refused", {}), corrupt);
    write_bytes(file, whole);
  }
  for (const auto& [file, bytes] : cut) write_bytes(file, bytes);
  const auto source = open({.allow_partial = true});
  EXPECT_THAT(source->notes(), Contains(HasSubstr("LIDAR_TOP 1 of 14")));
  const ConvertSummary summary = convert(*source, dir_ / "part", {});
  EXPECT_EQ(summary.num_reported, 3);
  EXPECT_EQ(summary.num_skipped(), 0);
  const std::string report = read_file(dir_ / "part/report.jsonl");
  for (const auto& [file, bytes] : cut) {
    if (file.find("LIDAR") != std::string::npos) continue;  // counted when it was listed
    EXPECT_THAT(report, HasSubstr(file));
  }
  EXPECT_THAT(report, HasSubstr("left empty"));
  auto nulls = null_fields(dir_ / "part", "mini_train");
  for (const auto& [name, count] : null_fields(dir_ / "part", "mini_val")) nulls[name] += count;
  EXPECT_EQ(nulls["LIDAR_TOP/points"], 1);
  EXPECT_EQ(nulls["RADAR_FRONT/points"], 1);
  EXPECT_EQ(nulls["CAM_FRONT/image"], 1);
  EXPECT_EQ(nulls["CAM_FRONT/intrinsics"], 0);
}

TEST_F(NuScenesDamage, MapsThatAreNoWholePngAreNamed) {
  const std::string whole = testing::map_mask();
  std::string flipped = whole;
  flipped[45] ^= 1;
  for (const std::string& bytes :
       {std::string("a mask"), whole.substr(0, 40), whole.substr(0, whole.size() - 12), flipped}) {
    write_bytes(root() / "maps/m.png", bytes);
    EXPECT_ERROR(open(), corrupt, .path = root() / "maps/m.png");
    EXPECT_THAT(open({.allow_partial = true})->notes(),
                Contains(HasSubstr("1 of the 1 map masks are damaged and are left out")));
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
