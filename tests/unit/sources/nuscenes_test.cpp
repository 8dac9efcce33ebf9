// The converted data root of the shared data against what nuScenes' devkit says of it
// (expected.json).
#include <nlohmann/json.hpp>

#include <ffkit/converter/merge.h>
#include <ffkit/nuscenes/classes.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/sources/nuscenes.h>

#include "sha256.h"
#include "sources_prelude.h"

namespace ffkit::nuscenes {
namespace {

using nlohmann::json;

json read_json(const fs::path& path) {
  return json::parse(std::ifstream(path));
}

std::string sha256_of(std::span<const std::byte> bytes) {
  return testing::sha256_hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

template <typename T>
std::vector<T> numbers(const TensorView& tensor) {
  EXPECT_EQ(tensor.dtype, dtype_of<T>());
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

// [[1, 2], [3]] as 1, 2, 3; null is NaN.
void flatten(const json& value, std::vector<double>& out) {
  if (value.is_array()) {
    for (const json& item : value) flatten(item, out);
  } else {
    out.push_back(value.is_null() ? std::nan("") : value.get<double>());
  }
}

std::vector<double> flat(const json& value) {
  std::vector<double> out;
  flatten(value, out);
  return out;
}

std::vector<double> pose(const json& row) {
  std::vector<double> numbers = flat(row["translation"]);
  flatten(row["rotation"], numbers);
  return numbers;
}

// One record, by the names of its fields.
class Record {
 public:
  Record(const Dataset& dataset, int64_t number) : schema_(dataset.schema()) {
    dataset.read(number, bytes_);
    view_.emplace(schema_, bytes_);
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  FieldView operator[](const std::string& name) const {
    return view_->field(schema_.require(name));
  }
  std::string text(const std::string& name) const { return std::string((*this)[name].string()); }
  int64_t number(const std::string& name) const { return (*this)[name].scalar<int64_t>(); }
  template <typename T>
  std::vector<T> array(const std::string& name) const {
    return numbers<T>((*this)[name].tensor());
  }

 private:
  const Schema schema_;
  std::vector<std::byte> bytes_;
  std::optional<RecordView> view_;
};

class NuScenesTest : public ::testing::Test {
 protected:
  static constexpr const char* kRoot = "nuscenes/root";

  void SetUp() override {
    FFKIT_REQUIRE_SHARED_DATA(root, kRoot);
    root_ = root;
    expected_ = read_json(root / "../expected.json");
    convert(*open_nuscenes(root, {.version = "v1.0-mini", .camera_sweeps = 4}), dir_ / "data", {});
    for (const json& sample : expected_["samples"]) {
      const std::string split = sample["split"];
      if (!keyframes_.contains(split)) {
        keyframes_.emplace(split, Dataset::open(dir_ / "data", split));
        sweeps_.emplace(split, Dataset::open(dir_ / "data", sweeps_split(split)));
      }
    }
    for (const auto& [split, dataset] : keyframes_) {
      tokens_[split] = dataset.string_column(keyframe::kToken);
    }
  }

  const std::string& token_of(const std::string& split, int64_t number) {
    static const std::string none;
    return number < 0 ? none : tokens_[split].at(static_cast<size_t>(number));
  }
  Record record_of(const json& sample) {
    const std::vector<std::string>& tokens = tokens_[sample["split"]];
    const auto found = std::find(tokens.begin(), tokens.end(), sample["token"].get<std::string>());
    return {keyframes_.at(sample["split"]), found - tokens.begin()};
  }
  // Of the frames that a keyframe's channel refers to.
  std::vector<std::string> sweep_tokens(const std::string& split, const Record& record,
                                        const std::string& channel) {
    std::vector<std::string> tokens;
    const auto numbers = record.array<int64_t>(channel + "/sweeps");
    for (size_t i = 0; i < numbers.size(); i += 2) {
      const auto number = numbers[i + 1];
      tokens.push_back(numbers[i] == 0
                           ? Record(keyframes_.at(split), number).text(channel + "/token")
                           : Record(sweeps_.at(split), number).text(sweep::kToken));
    }
    return tokens;
  }
  std::string file_sha256(const std::string& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    return sha256_of(std::as_bytes(std::span(bytes)));
  }

  testing::TempDir dir_;
  fs::path root_;
  json expected_;
  std::map<std::string, Dataset> keyframes_;
  std::map<std::string, Dataset> sweeps_;
  std::map<std::string, std::vector<std::string>> tokens_;
};

TEST_F(NuScenesTest, ScenesFollowEachOtherInTime) {
  for (const json& scene : expected_["scenes"]) {
    const std::string split = scene["name"] == "scene-0061" ? "mini_train" : "mini_val";
    EXPECT_EQ(tokens_[split], scene["samples"].get<std::vector<std::string>>());
    for (const std::string& token : tokens_[split]) {
      const Record record = record_of({{"split", split}, {"token", token}});
      EXPECT_EQ(record.text("scene"), scene["name"].get<std::string>());
      EXPECT_EQ(record.text("scene_token"), scene["token"].get<std::string>());
      EXPECT_EQ(record.text("location"), scene["location"].get<std::string>());
      EXPECT_EQ(record.text("vehicle"), scene["vehicle"].get<std::string>());
      EXPECT_EQ(record.text("logfile"), scene["logfile"].get<std::string>());
      const Record map(Dataset::open(dir_ / "data", maps_split(split)), record.number("map"));
      EXPECT_EQ(map.text(map::kFilename), scene["map_filename"].get<std::string>());
      EXPECT_EQ(map.text(map::kLocation), scene["location"].get<std::string>());
      EXPECT_EQ(sha256_of(map[map::kMask].bytes()), file_sha256(scene["map_filename"]));
    }
  }
}

TEST_F(NuScenesTest, EverySensorOfEverySampleIsAsExpected) {
  ASSERT_EQ(expected_["samples"].size(), 8U);
  for (const json& sample : expected_["samples"]) {
    const Record record = record_of(sample);
    SCOPED_TRACE(sample["token"]);
    EXPECT_EQ(record.number("timestamp"), sample["timestamp"]);
    EXPECT_EQ(token_of(sample["split"], record.number("prev")), sample["prev"].get<std::string>());
    EXPECT_EQ(token_of(sample["split"], record.number("next")), sample["next"].get<std::string>());
    ASSERT_EQ(sample["channels"].size(), 12U);
    for (const auto& [channel, wanted] : sample["channels"].items()) {
      SCOPED_TRACE(channel);
      const std::string prefix = channel + "/";
      EXPECT_EQ(record.text(prefix + "token"), wanted["sample_data_token"].get<std::string>());
      EXPECT_EQ(record.text(prefix + "filename"), wanted["filename"].get<std::string>());
      EXPECT_EQ(record.number(prefix + "timestamp"), wanted["timestamp"]);
      EXPECT_EQ(record.array<double>(prefix + "sensor_to_ego"), pose(wanted["calibrated_sensor"]));
      EXPECT_EQ(record.array<double>(prefix + "ego_to_global"), pose(wanted["ego_pose"]));
      if (wanted["modality"] == "camera") {
        EXPECT_EQ(sha256_of(record[prefix + "image"].bytes()), wanted["sha256"].get<std::string>());
        EXPECT_EQ(record.array<double>(prefix + "intrinsics"),
                  flat(wanted["calibrated_sensor"]["camera_intrinsic"]));
        continue;
      }
      const TensorView points = record[prefix + "points"].tensor();
      if (wanted["modality"] == "lidar") {
        EXPECT_EQ(sha256_of(points.data), wanted["sha256"].get<std::string>());
        EXPECT_EQ(points.shape, (std::vector<int64_t>{wanted["num_points"], 5}));
        continue;
      }
      EXPECT_EQ(points.shape, (std::vector<int64_t>{wanted["radar"]["num_points_no_filters"], 18}));
      std::array<double, 18> sums{};
      const auto values = numbers<float>(points);
      for (size_t i = 0; i < values.size(); ++i) sums[i % 18] += double{values[i]};
      const auto wanted_sums = flat(wanted["radar"]["sum18_no_filters"]);
      for (size_t i = 0; i < wanted_sums.size(); ++i) {
        EXPECT_NEAR(sums[i], wanted_sums[i], 1e-9 * (1 + std::abs(wanted_sums[i]))) << i;
      }
    }
    const TensorView labels = record["LIDAR_TOP/lidarseg"].tensor();
    EXPECT_EQ(sha256_of(labels.data), sample["lidarseg"]["sha256"].get<std::string>());
    EXPECT_EQ(labels.shape, std::vector<int64_t>{sample["lidarseg"]["num_labels"]});
    EXPECT_TRUE(record["LIDAR_TOP/panoptic"].is_null());
  }
}

TEST_F(NuScenesTest, EveryBoxIsAsExpected) {
  size_t num_boxes = 0;
  for (const json& sample : expected_["samples"]) {
    const Record record = record_of(sample);
    const json& annotations = sample["annotations"];
    const size_t n = annotations.size();
    num_boxes += n;
    const ListView tokens = record["boxes/token"].list();
    ASSERT_EQ(tokens.size(), n);
    const auto global = record.array<double>("boxes/global");
    const auto velocity = record.array<double>("boxes/velocity");
    const auto lidar = record.array<float>("boxes/lidar");
    const auto valid = record.array<uint8_t>("boxes/valid");
    EXPECT_EQ(record["boxes/lidar"].tensor().shape, (std::vector<int64_t>{int64_t(n), 9}));
    for (size_t i = 0; i < n; ++i) {
      const json& wanted = annotations[i];
      SCOPED_TRACE(wanted["token"]);
      EXPECT_EQ(tokens.string(i), wanted["token"].get<std::string>());
      EXPECT_EQ(record["boxes/instance"].list().string(i),
                wanted["instance_token"].get<std::string>());
      EXPECT_EQ(record["boxes/category"].list().string(i),
                wanted["category_name"].get<std::string>());
      std::vector<double> box = flat(wanted["translation"]);
      flatten(wanted["size"], box);
      flatten(wanted["rotation"], box);
      EXPECT_EQ(std::vector<double>(&global[10 * i], &global[10 * i] + 10), box);
      const auto wanted_velocity = flat(wanted["velocity"]);
      for (size_t j = 0; j < 3; ++j) {
        const double v = velocity[3 * i + j];
        EXPECT_TRUE(v == wanted_velocity[j] || (std::isnan(v) && std::isnan(wanted_velocity[j])))
            << v << " against " << wanted_velocity[j];
      }
      const json& in_lidar = wanted["lidar_box"];
      const auto center = flat(in_lidar["center"]);
      for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(lidar[9 * i + j], center[j], 1e-5);
      const auto wlh = flat(in_lidar["wlh"]);
      EXPECT_EQ(lidar[9 * i + 3], static_cast<float>(wlh[1]));
      EXPECT_EQ(lidar[9 * i + 4], static_cast<float>(wlh[0]));
      EXPECT_EQ(lidar[9 * i + 5], static_cast<float>(wlh[2]));
      EXPECT_NEAR(lidar[9 * i + 6], in_lidar["yaw_pitch_roll0"].get<double>(), 1e-6);
      EXPECT_EQ(std::isnan(lidar[9 * i + 7]), std::isnan(wanted_velocity[0]));
      EXPECT_NEAR(
          std::isnan(lidar[9 * i + 7]) ? 0 : std::hypot(lidar[9 * i + 7], lidar[9 * i + 8]),
          std::isnan(wanted_velocity[0]) ? 0 : std::hypot(wanted_velocity[0], wanted_velocity[1]),
          0.02);  // the ego vehicle is tilted by a few degrees
      const std::string name =
          wanted["detection_name"].is_null() ? "" : wanted["detection_name"].get<std::string>();
      EXPECT_EQ(record.array<int64_t>("boxes/class")[i], class_number(name));
      const int64_t num_lidar = wanted["num_lidar_pts"];
      const int64_t num_radar = wanted["num_radar_pts"];
      EXPECT_EQ(record.array<int64_t>("boxes/num_lidar_pts")[i], num_lidar);
      EXPECT_EQ(record.array<int64_t>("boxes/num_radar_pts")[i], num_radar);
      EXPECT_EQ(valid[i], num_lidar + num_radar > 0 ? 1 : 0);
      const std::string visibility = wanted["visibility_token"];
      EXPECT_EQ(record.array<int64_t>("boxes/visibility")[i],
                visibility.empty() ? 0 : std::stoi(visibility));
      const json& attributes = wanted["attribute_names"];
      EXPECT_EQ(record.array<int64_t>("boxes/attribute")[i],
                attributes.empty() ? -1 : attribute_number(attributes[0].get<std::string>()));
    }
  }
  EXPECT_EQ(num_boxes, 503U);
}

TEST_F(NuScenesTest, DeliberateDifficultiesAreThere) {
  const json difficulties = read_json(root_ / "../difficulties.json");
  std::map<std::string, std::pair<Record*, size_t>> boxes;
  std::vector<std::unique_ptr<Record>> records;
  for (const json& sample : expected_["samples"]) {
    records.emplace_back(new Record(record_of(sample)));  // its view must not move
    const ListView tokens = (*records.back())["boxes/token"].list();
    for (size_t i = 0; i < tokens.size(); ++i) {
      boxes[std::string(tokens.string(i))] = {records.back().get(), i};
    }
  }
  const auto integer = [&](const std::string& token, const char* field) {
    const auto& [record, i] = boxes.at(token);
    return record->array<int64_t>(field)[i];
  };
  for (const std::string token : difficulties["lidar_0_but_radar_points"]) {
    EXPECT_EQ(integer(token, "boxes/num_lidar_pts"), 0);
    EXPECT_EQ(boxes.at(token).first->array<uint8_t>("boxes/valid")[boxes.at(token).second], 1);
  }
  for (const std::string token : difficulties["no_points_at_all"]) {
    EXPECT_EQ(boxes.at(token).first->array<uint8_t>("boxes/valid")[boxes.at(token).second], 0);
  }
  for (const std::string token : difficulties["velocity_nan"]) {
    const auto& [record, i] = boxes.at(token);
    EXPECT_TRUE(std::isnan(record->array<double>("boxes/velocity")[3 * i]));
    EXPECT_TRUE(std::isnan(record->array<float>("boxes/lidar")[9 * i + 7]));
  }
  for (const std::string token : difficulties["no_attribute_any_class"]) {
    EXPECT_EQ(integer(token, "boxes/attribute"), -1);
  }
  for (const std::string token : difficulties["visibility_token_empty"]) {
    EXPECT_EQ(integer(token, "boxes/visibility"), 0);
  }
  for (const auto& [token, category] : difficulties["category_outside_detection_classes"].items()) {
    EXPECT_EQ(integer(token, "boxes/class"), -1);
    const auto& [record, i] = boxes.at(token);
    EXPECT_EQ((*record)["boxes/category"].list().string(i), category.get<std::string>());
  }
  const std::string empty = difficulties["radar_file_with_no_points"][0];
  size_t num_found = 0;
  for (const auto& record : records) {
    if (record->text("RADAR_BACK_RIGHT/filename") != empty) continue;
    ++num_found;
    EXPECT_EQ((*record)["RADAR_BACK_RIGHT/points"].tensor().shape, (std::vector<int64_t>{0, 18}));
  }
  EXPECT_EQ(num_found, 1U);
}

TEST_F(NuScenesTest, SweepsFollowPrev) {
  for (const json& sample : expected_["samples"]) {
    SCOPED_TRACE(sample["token"]);
    const Record record = record_of(sample);
    std::vector<std::string> wanted;
    for (const json& sweep : sample["lidar_sweeps"]) wanted.push_back(sweep["sample_data_token"]);
    EXPECT_EQ(sweep_tokens(sample["split"], record, "LIDAR_TOP"), wanted);
    // The radars have no sweeps between keyframes here.
    EXPECT_LE(record["RADAR_FRONT/sweeps"].tensor().shape[0], 5);
  }
}

TEST_F(NuScenesTest, EachSweepIsStoredOnceAndWhole) {
  std::map<std::string, const json*> wanted;
  for (const json& sweep : expected_["sweep_files"]) wanted[sweep["sample_data_token"]] = &sweep;
  std::set<std::string> found;
  for (const auto& [split, dataset] : sweeps_) {
    for (int64_t i = 0; i < dataset.num_records(); ++i) {
      const Record record(dataset, i);
      EXPECT_TRUE(found.insert(record.text(sweep::kToken)).second);
      const json& sweep = *wanted.at(record.text(sweep::kToken));
      EXPECT_EQ(record.text(sweep::kChannel), sweep["channel"].get<std::string>());
      EXPECT_EQ(record.number(sweep::kTimestamp), sweep["timestamp"]);
      EXPECT_EQ(record.text(sweep::kSampleToken), sweep["sample_token"].get<std::string>());
      EXPECT_EQ(record.text("filename"), sweep["filename"].get<std::string>());
      const bool is_lidar = sweep["modality"] == "lidar";
      EXPECT_EQ(record["image"].is_null(), is_lidar);
      EXPECT_EQ(record["points"].is_null(), !is_lidar);
      EXPECT_EQ(record["intrinsics"].is_null(), is_lidar);
      EXPECT_EQ(sha256_of(is_lidar ? record["points"].tensor().data : record["image"].bytes()),
                sweep["sha256"].get<std::string>());
    }
  }
  EXPECT_EQ(found.size(), wanted.size());
}

TEST_F(NuScenesTest, PartsAndResumingGiveWhatOneConversionGives) {
  const auto source = open_nuscenes(root_);
  constexpr int64_t kShardBytes = 1 << 20;
  convert(*source, dir_ / "whole", {.shard_bytes = kShardBytes});
  convert(*source, dir_ / "part1", {.shard_bytes = kShardBytes, .part = {1, 2}});
  convert(*source, dir_ / "part2", {.shard_bytes = kShardBytes, .part = {2, 2}});
  merge_datasets(dir_ / "merged", {dir_ / "part2", dir_ / "part1"}, {});
  std::atomic<bool> cancel = false;
  ConvertOptions options{.num_threads = 1, .shard_bytes = kShardBytes, .cancel = &cancel};
  options.progress = [&](const ConvertProgress& progress) { cancel = progress.num_done >= 4; };
  EXPECT_THROW(convert(*source, dir_ / "resumed", options), Error);
  convert(*source, dir_ / "resumed", {.shard_bytes = kShardBytes, .resume = true});
  for (const std::string& split : list_splits(dir_ / "whole")) {
    const std::string whole = Dataset::open(dir_ / "whole", split).fingerprint();
    EXPECT_EQ(Dataset::open(dir_ / "merged", split).fingerprint(), whole) << split;
    EXPECT_EQ(Dataset::open(dir_ / "resumed", split).fingerprint(), whole) << split;
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
