// What the options take of a data root.
#include <nlohmann/json.hpp>

#include <ffkit/converter/merge.h>
#include <ffkit/nuscenes/record.h>

#include "nuscenes_root_test.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

using nlohmann::json;
using testing::NuScenesTables;
using testing::write_bytes;

class NuScenesChoice : public testing::NuScenesRootTest {};

TEST_F(NuScenesChoice, SweepsThatAreNotTakenAreCounted) {
  EXPECT_THAT(open()->notes(), ::testing::Not(Contains(HasSubstr("frames between keyframes"))));
  EXPECT_THAT(
      open({.lidar_sweeps = 1, .radar_sweeps = 0})->notes(),
      Contains(HasSubstr("4 of the 8 frames between keyframes are left out (LIDAR_TOP 4)")));
}

TEST_F(NuScenesChoice, SweepsAreCountedWhereverTheyStandInTheTable) {
  edit("sample_data", [](json& rows) {
    const auto sweep = std::find_if(rows.begin(), rows.end(), [](const json& row) {
      return row["filename"].get<std::string>().starts_with("sweeps/LIDAR_TOP");
    });
    std::iter_swap(rows.begin(), sweep);
  });
  EXPECT_THAT(
      open({.lidar_sweeps = 1, .radar_sweeps = 0})->notes(),
      Contains(HasSubstr("4 of the 8 frames between keyframes are left out (LIDAR_TOP 4)")));
}

TEST_F(NuScenesChoice, NamesOfLabelsAreThoseOfTheCategoriesByTheirIndex) {
  std::string names;
  edit("category", [&](json& rows) {
    const size_t last = rows.size() - 1;
    for (size_t i = 0; i <= last; ++i) {
      rows[last - i]["index"] = i;
      names += (i == 0 ? "" : ",") + rows[last - i]["name"].get<std::string>();
    }
  });
  EXPECT_EQ(open()->facts(0).at("lidarseg_names"), names);
}

TEST_F(NuScenesChoice, SensorsAndSweepsAreOptional) {
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
  EXPECT_ERROR(open({.cameras = {"CAM_TOP"}, .all_cameras = false}), invalid_argument);
  for (const int sweeps : {-1, 101}) {
    EXPECT_ERROR(open({.lidar_sweeps = sweeps}), invalid_argument, .subject = argument);
  }
  EXPECT_NO_THROW(open({.lidar_sweeps = 100}));
  EXPECT_ERROR(open({.lidar_dtype = DType::f64}), invalid_argument);
}

TEST_F(NuScenesChoice, CanBusMessagesGoToTheKeyframeThatFollows) {
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
  // A file without messages counts as missing.
  for (const char* empty : {"", "[]", " [\n]\n"}) {
    write_bytes(root() / "can_bus/scene-0103_pose.json", empty);
    EXPECT_THAT(open()->notes(),
                Contains("1 files of CAN bus messages are empty and count as missing"));
    converted({}, "mini_val").read(0, bytes);
    EXPECT_TRUE(
        RecordView(others.schema(), bytes).is_null(others.schema().require("can_bus/pose")));
  }
  write_bytes(root() / "can_bus/scene-0061_pose.json",
              "[{\"utime\": 1, \"speed\": 2}, {\"utime\": 3}]");
  EXPECT_ERROR(convert(*open(), dir_ / "z", {}), corrupt, .subject = sample);
}

TEST_F(NuScenesChoice, IntrinsicsAreScaledWithTheImage) {
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

TEST_F(NuScenesChoice, HalvesAreTheNearest) {
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
  EXPECT_ERROR(converted({.lidar_dtype = DType::f16}, "mini_val"), unsupported, .subject = sample);
}

TEST_F(NuScenesChoice, ThreadsDoNotChangeTheOutput) {
  const std::string one =
      converted({}, "mini_train", {.num_threads = 1, .zstd_level = 3}).fingerprint();
  EXPECT_EQ(converted({}, "mini_train", {.num_threads = 7, .zstd_level = 3}).fingerprint(), one);
  EXPECT_EQ(converted({}, "mini_train", {.num_threads = 2, .resume = true, .zstd_level = 3})
                .fingerprint(),
            one);
}

TEST_F(NuScenesChoice, RecordsKeepTheirNumbers) {
  EXPECT_FALSE(open()->splits()[0].is_training);  // not shuffled
  EXPECT_ERROR(convert(*open(), dir_ / "skip", {.bad_samples = BadSamples::skip}), invalid_argument,
               .subject = argument);
  convert(*open(), dir_ / "a", {});
  convert(*open({.radar = true, .lidar_sweeps = 1}), dir_ / "b", {});
  EXPECT_ERROR(merge_datasets(dir_ / "c", {dir_ / "a", dir_ / "b"}, {}), invalid_argument);
}

TEST_F(NuScenesChoice, OtherScenesAreLeftOut) {
  edit("scene", [](json& rows) { rows[1]["name"] = "scene-0001"; });
  const auto source = open();
  EXPECT_EQ(source->splits()[0].name, "mini_train");
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("1 of the 2 scenes belong to no converted split of v1.0-mini")));
  edit("scene", [](json& rows) { rows[0]["name"] = "scene-0002"; });
  EXPECT_ERROR(open(), invalid_argument);
}

TEST_F(NuScenesChoice, OwnScenesHaveTheSplitsOfSplitsJson) {
  edit("scene", [](json& rows) {
    rows[0]["name"] = "mine-1";
    rows[1]["name"] = "mine-2";
  });
  write_file(table("splits"), R"({"my_train": ["mine-1"], "my_val": ["mine-2", "mine-3"]})");
  const auto source = open();
  EXPECT_EQ(source->splits().front().name, "my_train");
  EXPECT_THAT(source->splits(),
              Contains(::testing::Field(&SourceSplit::name, std::string("my_val"))));
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("the tables have 1 of 2 scenes of split my_val")));
  const auto one = open({.splits = {"my_val"}});
  EXPECT_EQ(one->splits().front().name, "my_val");
  EXPECT_THAT(one->notes(), Contains(HasSubstr("1 of the 2 scenes belong to no converted split")));
  EXPECT_ERROR(open({.splits = {"val"}}), invalid_argument);
  // A scene that is named twice is taken once, as by the devkit.
  write_file(table("splits"), R"({"my_train": ["mine-1", "mine-1"]})");
  EXPECT_EQ(open()->splits().front().name, "my_train");
  // Under a name that the devkit has a list of: said. Another version: as the devkit, which takes
  // any folder.
  write_file(table("splits"), R"({"train": ["mine-1"]})");
  EXPECT_THAT(open()->notes(), Contains(HasSubstr("the devkit has its own list")));
  std::filesystem::rename(root() / "v1.0-mini", root() / "v1.0-mine");
  EXPECT_EQ(open()->splits().front().name, "train");
  EXPECT_EQ(open({.version = "v1.0-mine"})->splits().front().name, "train");
}

TEST_F(NuScenesChoice, SplitsJsonIsAsTheDevkitWantsIt) {
  const std::string scene = json::parse(testing::read_file(table("scene")))[0]["name"];
  for (const char* text : {R"(["a"])", R"({"a": "b"})", R"({"a": [1]})", "{"}) {
    write_file(table("splits"), text);
    EXPECT_ERROR(open(), corrupt);
  }
  for (const std::string& text :
       {std::string(R"({"mini_train": ["x"]})"), R"({"a": [")" + scene + R"("]})"}) {
    write_file(table("splits"), text);
    EXPECT_ERROR(open(), invalid_argument);
  }
  EXPECT_EQ(open({.splits = {"a"}})->splits().front().name, "a");
}

// A rig has what it has: the remedy is the option that leaves the rest out.
TEST_F(NuScenesChoice, SensorsThatARigLacksAreNamedAtOnce) {
  const auto take_away = [this](const std::string& word) {
    edit("sample_data", [&](json& rows) {
      json kept = json::array();
      for (const json& row : rows) {
        if (row["filename"].get<std::string>().find(word) == std::string::npos) kept.push_back(row);
      }
      rows = kept;
    });
  };
  take_away("RADAR");
  EXPECT_ERROR(open(), invalid_argument);
  EXPECT_NO_THROW(open({.radar = false}));
  take_away("CAM_BACK/");
  EXPECT_ERROR(open({.radar = false}), invalid_argument);
  take_away("LIDAR");
  EXPECT_ERROR(open({.radar = false}), unsupported);
}

TEST_F(NuScenesChoice, LabelsNeedTheIndexOfTheirCategories) {
  edit("category", [](json& rows) { rows[1].erase("index"); });
  write_file(table("lidarseg"), "[]");
  EXPECT_ERROR(open(), invalid_argument);
}

TEST_F(NuScenesChoice, ABoxHasOneAttributeAtMost) {
  const json attributes = json::parse(testing::read_file(table("attribute")));
  edit("sample_annotation", [&](json& rows) {
    rows[0]["attribute_tokens"] = {attributes[0]["token"], attributes[0]["token"]};
  });
  EXPECT_ERROR(open(), invalid_argument);
  edit("category", [](json& rows) {
    for (json& row : rows) row["name"] = "animal";
  });
  EXPECT_THAT(open()->notes(),
              Contains(HasSubstr("1 annotations outside of the ten classes have more than one")));
}

TEST_F(NuScenesChoice, NamesPartsThatAreNotConverted) {
  EXPECT_THAT(open()->notes(), ::testing::Not(Contains(HasSubstr("not converted"))));
  for (const char* part : {"maps/expansion", "maps/prediction", "maps/basemap", "gts",
                           "v1.0-mini/image_annotations.json"}) {
    std::filesystem::create_directories(root() / part);
    EXPECT_THAT(open()->notes(), Contains(HasSubstr(std::string(part) + ": ")));
  }
  fs::create_directories(root() / "panoptic");
  EXPECT_THAT(open()->notes(),
              Contains(HasSubstr("panoptic: is not converted: it contains labels of points")));
}

}  // namespace
}  // namespace ffkit::nuscenes
