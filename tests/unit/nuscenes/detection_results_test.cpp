// Detections on their way to the official results file: a made-up set, and the small real one.
#include <nlohmann/json.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/nuscenes/detection_results.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/sources/nuscenes.h>

#include "nuscenes/make_nuscenes.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

// All annotations as detections that are sure of themselves: those with points, as a network sees
// them. Velocities that nobody knows are 0.
std::vector<KeyframeDetections> true_detections(const Dataset& keyframes) {
  const Schema& schema = keyframes.schema();
  std::vector<KeyframeDetections> all;
  for (int64_t record = 0; record < keyframes.num_records(); ++record) {
    std::vector<std::byte> bytes;
    keyframes.read(record, bytes);
    const RecordView view(schema, bytes);
    const TensorView boxes = view.tensor(schema.require(keyframe::kBoxLidar));
    const TensorView classes = view.tensor(schema.require(keyframe::kBoxClass));
    const TensorView valid = view.tensor(schema.require(keyframe::kBoxValid));
    KeyframeDetections& found = all.emplace_back();
    found.keyframe = record;
    for (size_t i = 0; i < valid.data.size(); ++i) {
      int64_t number = 0;
      std::memcpy(&number, classes.data.data() + i * sizeof(number), sizeof(number));
      if (number < 0 || valid.data[i] == std::byte{0}) continue;
      std::array<float, 9> stored{};
      std::memcpy(stored.data(), boxes.data.data() + i * sizeof(stored), sizeof(stored));
      if (std::isnan(stored[7] + stored[8])) stored[7] = stored[8] = 0;
      LidarDetection& detection = found.boxes.emplace_back();
      std::copy(stored.begin(), stored.end(), detection.box.begin());
      detection.class_number = static_cast<int>(number);
      detection.score = 1;
    }
  }
  return all;
}

DetectionConfig without_range() {
  DetectionConfig config;
  config.class_range.fill(1e9);
  return config;
}

// The detections of annotations are the annotations: where they are, and in the metric.
void expect_truth_comes_back(const Dataset& keyframes) {
  const GroundTruth truth = read_ground_truth(keyframes);
  const auto detections = true_detections(keyframes);
  const Submission all = make_submission(keyframes, detections, without_range());
  ASSERT_EQ(all.samples.size(), truth.samples.size());
  for (size_t sample = 0; sample < all.samples.size(); ++sample) {
    EXPECT_EQ(all.samples[sample].token, truth.samples[sample].token);
    const auto& found = all.samples[sample].boxes;
    size_t next = 0;
    for (const DetectionBox& wanted : truth.samples[sample].boxes) {
      if (wanted.num_points == 0) continue;
      ASSERT_LT(next, found.size());
      const DetectionBox& box = found[next++];
      // The boxes are stored as f32, up to 100 m away.
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(box.translation[i], wanted.translation[i], 2e-5);
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(box.size[i], wanted.size[i], 1e-6);
      EXPECT_EQ(box.class_number, wanted.class_number);
      // They have one angle and two velocities: what the lidar's tilt takes of them is lost.
      const double turn = yaw_of(box.rotation) - yaw_of(wanted.rotation);
      EXPECT_NEAR(std::remainder(turn, 2 * 3.14159265358979323846), 0, 2e-3);
      for (size_t i = 0; i < 2; ++i) {
        const double velocity = std::isnan(wanted.velocity[i]) ? 0 : wanted.velocity[i];
        EXPECT_NEAR(box.velocity[i], velocity, 2e-2);
      }
    }
    EXPECT_EQ(next, found.size());
  }
  const DetectionMetrics metrics = evaluate(truth, make_submission(keyframes, detections));
  int num_classes = 0;
  for (size_t c = 0; c < kClasses.size(); ++c) {
    if (metrics.num_truth[c] == 0) continue;
    ++num_classes;
    EXPECT_NEAR(metrics.mean_dist_aps[c], 1, 1e-12) << kClasses[c];
    EXPECT_EQ(metrics.num_detections[c], metrics.num_truth[c]) << kClasses[c];
  }
  EXPECT_GE(num_classes, 4);
}

class DetectionResults : public ::testing::Test {
 protected:
  DetectionResults() {
    testing::make_nuscenes(dir_ / "set");
    keyframes_ = Dataset::open(dir_ / "set", "mini_val");
  }
  // A detection of keyframe 0 whose centre is there in the ego's frame.
  static LidarDetection at_in_ego(double x, double y, int class_of_box = 0, double score = 0.5) {
    const Pose lidar{{0.94, 0, 1.84}, {0.7077, -0.0065, 0.0106, -0.7063}};  // of make_nuscenes.h
    const Box box = move_back({.center = {x, y, 0.8}, .size = {2, 4, 1.5}}, lidar);
    return {.box = lidar_box_numbers(box), .class_number = class_of_box, .score = score};
  }
  std::vector<DetectionBox> kept(const std::vector<LidarDetection>& boxes,
                                 const DetectionConfig& config = {}) {
    const std::vector<KeyframeDetections> detections = {{.keyframe = 0, .boxes = boxes}};
    return make_submission(*keyframes_, detections, config).samples.at(0).boxes;
  }
  testing::TempDir dir_;
  std::optional<Dataset> keyframes_;
};

TEST_F(DetectionResults, TruthComesBack) {
  expect_truth_comes_back(*keyframes_);
}

TEST(DetectionResultsOfTheSharedRoot, TruthComesBack) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const testing::TempDir dir;
  convert(*open_nuscenes(root / "root", {.version = "v1.0-mini"}), dir / "data", {});
  for (const char* split : {"mini_train", "mini_val"}) {
    SCOPED_TRACE(split);
    expect_truth_comes_back(Dataset::open(dir / "data", split));
  }
}

// Without f32 between: the way to the global frame is the way back of the geometry's.
TEST_F(DetectionResults, BoxesAreMovedToTheGlobalFrame) {
  const Pose lidar{{0.94, 0, 1.84}, {0.7077, -0.0065, 0.0106, -0.7063}};
  const Pose ego{{1000, 400, 0}, {std::cos(0.05), 0, 0, std::sin(0.05)}};  // of keyframe 3
  const LidarDetection detection{
      .box = {12, -7, 0.5, 4.5, 1.9, 1.6, 0.7, 3, -2}, .class_number = 2, .score = 0.25};
  const std::vector<KeyframeDetections> detections = {{.keyframe = 3, .boxes = {detection}}};
  const Submission submission = make_submission(*keyframes_, detections);
  ASSERT_EQ(submission.samples.size(), 1U);
  EXPECT_EQ(submission.samples[0].token, "sample-1-0");
  const DetectionBox& box = submission.samples[0].boxes.at(0);
  const Box back = move_back(move_back({.center = box.translation,
                                        .size = box.size,
                                        .rotation = box.rotation,
                                        .velocity = {box.velocity[0], box.velocity[1], 0}},
                                       ego),
                             lidar);
  const auto numbers = lidar_box_numbers(back);
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(numbers[i], detection.box[i], 1e-9) << i;
  for (size_t i = 7; i < 9; ++i) EXPECT_NEAR(numbers[i], detection.box[i], 5e-3) << i;  // no z
  EXPECT_EQ(box.class_number, 2);
  EXPECT_EQ(box.score, 0.25);
}

// _format_bbox() of mmdetection3d 0.17.1, by hand.
TEST_F(DetectionResults, AttributesFollowFromClassAndSpeed) {
  const std::map<std::string, std::pair<std::string, std::string>> kMovingAndStill = {
      {"car", {"vehicle.moving", "vehicle.parked"}},
      {"truck", {"vehicle.moving", "vehicle.parked"}},
      {"construction_vehicle", {"vehicle.moving", "vehicle.parked"}},
      {"bus", {"vehicle.moving", "vehicle.stopped"}},
      {"trailer", {"vehicle.moving", "vehicle.parked"}},
      {"barrier", {"", ""}},
      {"motorcycle", {"cycle.with_rider", "cycle.without_rider"}},
      {"bicycle", {"cycle.with_rider", "cycle.without_rider"}},
      {"pedestrian", {"pedestrian.moving", "pedestrian.standing"}},
      {"traffic_cone", {"", ""}}};
  ASSERT_EQ(kMovingAndStill.size(), kClasses.size());
  for (size_t c = 0; c < kClasses.size(); ++c) {
    LidarDetection moving = at_in_ego(5, 5, static_cast<int>(c));
    moving.box[7] = 0.15;
    moving.box[8] = -0.15;  // 0.212 m/s together
    LidarDetection still = at_in_ego(5, 5, static_cast<int>(c));
    still.box[7] = -0.19;
    const auto boxes = kept({moving, still});
    const auto& [of_moving, of_still] = kMovingAndStill.at(std::string(kClasses[c]));
    EXPECT_EQ(boxes.at(0).attribute, attribute_number(of_moving)) << kClasses[c];
    EXPECT_EQ(boxes.at(1).attribute, attribute_number(of_still)) << kClasses[c];
  }
}

TEST_F(DetectionResults, BoxesBeyondTheRangeOfTheirClassAreLeftOut) {
  for (const int class_of_box : {0, 5, 8}) {
    const double range = DetectionConfig().class_range[static_cast<size_t>(class_of_box)];
    EXPECT_EQ(kept({at_in_ego(range - 0.01, 0, class_of_box)}).size(), 1U);
    EXPECT_EQ(kept({at_in_ego(range + 0.01, 0, class_of_box)}).size(), 0U);
    EXPECT_EQ(kept({at_in_ego(0, -range - 0.01, class_of_box)}).size(), 0U);
    const double diagonal = range / std::sqrt(2.0);
    EXPECT_EQ(kept({at_in_ego(-diagonal - 0.01, diagonal + 0.01, class_of_box)}).size(), 0U);
  }
}

TEST_F(DetectionResults, TheBestOfTooManyStayInTheirOrder) {
  std::vector<LidarDetection> many;
  for (int i = 0; i < 8; ++i) many.push_back(at_in_ego(i, 0, 0, i % 4 * 0.1));
  many.push_back(at_in_ego(60, 0, 0, 1));  // out of range, so it takes no place
  DetectionConfig config;
  config.max_boxes_per_sample = 3;
  std::vector<double> scores;
  for (const DetectionBox& box : kept(many, config)) scores.push_back(box.score);
  EXPECT_EQ(scores, (std::vector<double>{2 * 0.1, 3 * 0.1, 3 * 0.1})) << "the first of equal ones";
  EXPECT_EQ(kept(many).size(), 8U);
}

TEST_F(DetectionResults, WhatCannotBeIsRefused) {
  const auto make = [&](const std::vector<KeyframeDetections>& detections) {
    make_submission(*keyframes_, detections);
  };
  EXPECT_ERROR(make({{.keyframe = 1}, {.keyframe = 1}}), invalid_argument);
  EXPECT_ERROR(make({{.keyframe = 6}}), invalid_argument);
  LidarDetection wrong = at_in_ego(1, 1);
  wrong.class_number = 10;
  EXPECT_ERROR(make({{.keyframe = 0, .boxes = {at_in_ego(0, 0), wrong}}}), invalid_argument);
  wrong = at_in_ego(1, 1);
  wrong.box[3] = std::numeric_limits<double>::infinity();
  EXPECT_ERROR(make({{.keyframe = 2, .boxes = {wrong}}}), invalid_argument);
  wrong = at_in_ego(1, 1);
  wrong.score = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(make({{.keyframe = 2, .boxes = {wrong}}}), invalid_argument);
  const Dataset sweeps = Dataset::open(dir_ / "set", "mini_val_sweeps");
  const std::vector<KeyframeDetections> none = {{.keyframe = 0}};
  EXPECT_ERROR(make_submission(sweeps, none), invalid_argument);
}

void expect_equal(const Submission& a, const Submission& b) {
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].token, b.samples[i].token);
    ASSERT_EQ(a.samples[i].boxes.size(), b.samples[i].boxes.size());
    for (size_t k = 0; k < a.samples[i].boxes.size(); ++k) {
      const DetectionBox& x = a.samples[i].boxes[k];
      const DetectionBox& y = b.samples[i].boxes[k];
      EXPECT_EQ(x.translation, y.translation);
      EXPECT_EQ(x.size, y.size);
      EXPECT_EQ(x.rotation, y.rotation);
      EXPECT_EQ(x.velocity, y.velocity);
      EXPECT_EQ(x.class_number, y.class_number);
      EXPECT_EQ(x.attribute, y.attribute);
      EXPECT_EQ(x.score, y.score);
    }
  }
}

TEST_F(DetectionResults, FilesGiveTheSameNumbersBack) {
  Submission submission = make_submission(*keyframes_, true_detections(*keyframes_));
  DetectionBox& odd = submission.samples.at(0).boxes.at(0);
  odd.translation = {1.0 / 3, 1e300, -5e-324};
  odd.velocity = {0.1 + 0.2, 12345678901234567.0};
  odd.score = 2.0 / 3;
  submission.samples.push_back({.token = "odd \"token\" \\ \n"});
  const fs::path file = dir_ / "results.json";
  write_submission(file, submission);
  EXPECT_FALSE(fs::exists(dir_ / "results.json.tmp"));
  expect_equal(read_submission(file), submission);
  // As JSON by another reader.
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(json["meta"]["use_camera"], true);
  EXPECT_EQ(json["meta"]["use_lidar"], false);
  EXPECT_EQ(json["meta"].size(), 5U);
  const auto& first = json["results"]["sample-0-0"][0];
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(first["sample_token"], "sample-0-0");
  EXPECT_EQ(first["detection_name"], "car");
  EXPECT_EQ(first["attribute_name"], "vehicle.parked");
  EXPECT_EQ(first["translation"][0], 1.0 / 3);
  // One that is there is replaced; without boxes, and without meta.
  write_submission(file, {.meta = "", .samples = {}});
  EXPECT_TRUE(read_submission(file).samples.empty());
}

TEST_F(DetectionResults, AFileThatCannotBeWrittenLeavesTheOldOne) {
  const fs::path file = dir_ / "results.json";
  const Submission good = make_submission(*keyframes_, true_detections(*keyframes_));
  write_submission(file, good);
  Submission bad = good;
  bad.samples.back().boxes.back().velocity[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(write_submission(file, bad), invalid_argument, .path = file);
  bad = good;
  bad.samples.back().boxes.back().attribute = 8;
  EXPECT_ERROR(write_submission(file, bad), invalid_argument);
  expect_equal(read_submission(file), good);
  EXPECT_FALSE(fs::exists(dir_ / "results.json.tmp"));
  EXPECT_ERROR(write_submission(dir_ / "none" / "results.json", good), io);
}

}  // namespace
}  // namespace ffkit::nuscenes
