#include <ffkit/nuscenes/detection.h>

#include "detection_curves.h"
#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

DetectionBox box_at(double x, double score = -1) {
  return {.translation = {x, 0, 0}, .size = {2, 4, 1.5}, .score = score};
}

GroundTruth truth_of(std::vector<DetectionBox> boxes) {
  return {.samples = {{.token = "s", .boxes = std::move(boxes)}}};
}

Submission detections_of(std::vector<DetectionBox> boxes) {
  return {.meta = "null", .samples = {{.token = "s", .boxes = std::move(boxes)}}};
}

// The ground truth of the split from the devkit's own answers.
GroundTruth expected_truth(const nlohmann::json& expected, const std::string& split) {
  GroundTruth truth;
  for (const auto& sample : expected["samples"]) {
    if (sample["split"] != split) continue;
    SampleTruth& added = truth.samples.emplace_back();
    added.token = sample["token"];
    added.ego_translation = pose(sample["channels"]["LIDAR_TOP"]["ego_pose"]).translation;
    for (const auto& row : sample["annotations"]) {
      const Box at = box(row);
      if (row["category_name"] == "static_object.bicycle_rack") added.bicycle_racks.push_back(at);
      if (row["detection_name"].is_null()) continue;
      const auto& attributes = row["attribute_names"];
      added.boxes.push_back(
          {.translation = at.center,
           .size = at.size,
           .rotation = at.rotation,
           .velocity = {at.velocity[0], at.velocity[1]},
           .class_number = class_number(row["detection_name"].get<std::string>()),
           .attribute =
               attributes.empty() ? -1 : attribute_number(attributes[0].get<std::string>()),
           .num_points = row["num_lidar_pts"].get<int>() + row["num_radar_pts"].get<int>()});
    }
  }
  return truth;
}

TEST(Detection, FiguresAreTheDevkitsWhenGivenItsDetections) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const auto wanted = read_json(root / "nds.json");
  const GroundTruth truth = expected_truth(read_json(root / "expected.json"), "mini_val");
  const DetectionMetrics metrics = evaluate(truth, read_submission(root / "detections.json"));
  const auto& result = wanted["result"];
  constexpr double kTolerance = 1e-9;  // of all that does not depend on times
  const std::array<std::string, 4> thresholds = {"0.5", "1.0", "2.0", "4.0"};
  for (size_t c = 0; c < kClasses.size(); ++c) {
    const std::string name(kClasses[c]);
    for (size_t t = 0; t < thresholds.size(); ++t) {
      EXPECT_NEAR(metrics.label_aps[c][t], result["label_aps"][name][thresholds[t]], kTolerance);
    }
    EXPECT_NEAR(metrics.mean_dist_aps[c], result["mean_dist_aps"][name], kTolerance);
    for (size_t e = 0; e < kTpErrors.size(); ++e) {
      const double error = number(result["label_tp_errors"][name][std::string(kTpErrors[e])]);
      EXPECT_EQ(std::isnan(metrics.label_tp_errors[c][e]), std::isnan(error)) << name;
      if (std::isnan(error)) continue;
      EXPECT_NEAR(metrics.label_tp_errors[c][e], error, 1e-6) << name;
    }
    const auto& counts = wanted["boxes"]["per_class_after_filtering"][name];
    EXPECT_EQ(metrics.num_truth[c], counts["gt"]) << name;
    EXPECT_EQ(metrics.num_detections[c], counts["pred"]) << name;
  }
  for (size_t e = 0; e < kTpErrors.size(); ++e) {
    const std::string name(kTpErrors[e]);
    EXPECT_NEAR(metrics.tp_errors[e], result["tp_errors"][name], 1e-6);
    EXPECT_NEAR(metrics.tp_scores[e], result["tp_scores"][name], 1e-6);
  }
  EXPECT_NEAR(metrics.mean_ap, result["mean_ap"], kTolerance);
  EXPECT_NEAR(metrics.nd_score, result["nd_score"], 1e-6);
}

TEST(Detection, PerfectDetectionsScoreOneInTheirClass) {
  const auto metrics =
      evaluate(truth_of({box_at(1), box_at(9)}), detections_of({box_at(1, 0.9), box_at(9, 0.8)}));
  EXPECT_NEAR(metrics.mean_dist_aps[0], 1, 1e-12);
  EXPECT_NEAR(metrics.label_tp_errors[0][0], 0, 1e-12);
  // The nine classes without ground truth have average precision 0 and errors 1.
  EXPECT_NEAR(metrics.mean_ap, 0.1, 1e-12);
  EXPECT_EQ(metrics.label_tp_errors[1][0], 1);
}

TEST(Detection, ErrorsWithoutAnswerAreNaN) {
  const auto metrics = evaluate(truth_of({box_at(1)}), detections_of({box_at(1, 0.9)}));
  const auto cone = static_cast<size_t>(class_number("traffic_cone"));
  const auto barrier = static_cast<size_t>(class_number("barrier"));
  EXPECT_TRUE(std::isnan(metrics.label_tp_errors[cone][2]));
  EXPECT_TRUE(std::isnan(metrics.label_tp_errors[barrier][3]));
  EXPECT_FALSE(std::isnan(metrics.label_tp_errors[barrier][2]));
}

TEST(Detection, OfEqualScoresTheLaterOneGoesFirst) {
  // Both could match; the one that goes first does, and only its error counts.
  const auto metrics =
      evaluate(truth_of({box_at(0)}), detections_of({box_at(0.1, 0.5), box_at(0.3, 0.5)}));
  EXPECT_NEAR(metrics.label_tp_errors[0][0], 0.3, 1e-12);
}

TEST(Detection, MatchIsNearerThanTheThreshold) {
  const auto metrics = evaluate(truth_of({box_at(0)}), detections_of({box_at(2, 0.5)}));
  EXPECT_EQ(metrics.label_aps[0][2], 0);  // 2 m is not nearer than 2 m
  EXPECT_NEAR(metrics.label_aps[0][3], 1, 1e-12);
}

TEST(Detection, BoxesFarAwayOrWithoutPointsOrInARackDoNotCount) {
  DetectionBox empty = box_at(3);
  empty.num_points = 0;
  DetectionBox parked = box_at(5);
  parked.class_number = class_number("bicycle");
  GroundTruth truth = truth_of({box_at(60), empty, parked, box_at(1)});
  truth.samples[0].bicycle_racks.push_back({.center = {5, 0, 0}, .size = {1, 1, 1}});
  DetectionBox detected_parked = box_at(5.2, 0.5);
  detected_parked.class_number = parked.class_number;
  const auto metrics = evaluate(truth, detections_of({box_at(50, 0.5), detected_parked}));
  EXPECT_EQ(metrics.num_truth[0], 1);
  EXPECT_EQ(metrics.num_detections[0], 0);
  EXPECT_EQ(metrics.num_truth[static_cast<size_t>(parked.class_number)], 0);
  EXPECT_EQ(metrics.num_detections[static_cast<size_t>(parked.class_number)], 0);
}

TEST(Detection, UnknownVelocitiesAreLeftOutOfTheMean) {
  DetectionBox known = box_at(20);
  DetectionBox unknown = box_at(1);
  unknown.velocity = {kNaN, kNaN};
  DetectionBox detected = box_at(20, 0.5);
  detected.velocity = {3, 4};
  const auto metrics =
      evaluate(truth_of({unknown, known}), detections_of({box_at(1, 0.9), detected}));
  // 0 up to the first known one, then 5; interpolated by confidence in between.
  EXPECT_GT(metrics.label_tp_errors[0][3], 0);
  EXPECT_LT(metrics.label_tp_errors[0][3], 5);
  const auto none = evaluate(truth_of({unknown}), detections_of({box_at(1, 0.9)}));
  EXPECT_EQ(none.label_tp_errors[0][3], 1);
}

TEST(Detection, SamplesOfResultsAndSplitMustBeTheSame) {
  const GroundTruth truth = truth_of({box_at(1)});
  Submission other = detections_of({});
  other.samples[0].token = "t";
  EXPECT_ERROR(evaluate(truth, other), invalid_argument);
  EXPECT_ERROR(evaluate(truth, Submission{}), invalid_argument);
  Submission twice = detections_of({});
  twice.samples.push_back(twice.samples[0]);
  EXPECT_ERROR(evaluate(truth, twice), invalid_argument);
  DetectionBox flat = box_at(1, 0.5);
  flat.size[2] = 0;
  EXPECT_ERROR(evaluate(truth, detections_of({flat})), invalid_argument);
}

TEST(Detection, InterpolatesAsNumpy) {
  const std::vector<double> xp = {0.1, 0.2, 0.2, 0.4};
  const std::vector<double> fp = {1, 2, 3, 5};
  EXPECT_EQ(interpolate(0, xp, fp, -1, -2), -1);
  EXPECT_EQ(interpolate(0.5, xp, fp, -1, -2), -2);
  EXPECT_EQ(interpolate(0.2, xp, fp, -1, -2), 3);  // the last of equal ones
  EXPECT_NEAR(interpolate(0.3, xp, fp, -1, -2), 4, 1e-12);
  EXPECT_EQ(interpolate(0.4, xp, fp, -1, -2), 5);
}

class SubmissionTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto path = dir_ / "results.json";
    std::ofstream(path) << text;
    return path;
  }
  // A submission of one box with `old_part` of it replaced.
  std::filesystem::path write_box(const std::string& old_part, const std::string& new_part) {
    std::string box =
        R"({"sample_token": "s", "translation": [1, 2, 3], "size": [1, 2, 3], "rotation": [1, 0, 0, 0], )"
        R"("velocity": [0.5, NaN], "detection_name": "car", "detection_score": 0.25, "attribute_name": ""})";
    box.replace(box.find(old_part), old_part.size(), new_part);
    return write(R"({"meta": {"use_lidar": true}, "results": {"s": [)" + box + "]}}");
  }
  testing::TempDir dir_;
};

TEST_F(SubmissionTest, ReadsAllMembers) {
  const Submission read = read_submission(write_box("\"\"", "\"vehicle.parked\""));
  EXPECT_EQ(read.meta, R"({"use_lidar": true})");
  ASSERT_EQ(read.samples.size(), 1U);
  EXPECT_EQ(read.samples[0].token, "s");
  ASSERT_EQ(read.samples[0].boxes.size(), 1U);
  const DetectionBox& box = read.samples[0].boxes[0];
  EXPECT_EQ(box.translation, (Vector3{1, 2, 3}));
  EXPECT_EQ(box.size, (Vector3{1, 2, 3}));
  EXPECT_EQ(box.rotation, (Quaternion{1, 0, 0, 0}));
  EXPECT_EQ(box.velocity[0], 0.5);
  EXPECT_TRUE(std::isnan(box.velocity[1]));
  EXPECT_EQ(box.class_number, 0);
  EXPECT_EQ(box.attribute, attribute_number("vehicle.parked"));
  EXPECT_EQ(box.score, 0.25);
  EXPECT_EQ(box.num_points, -1);
}

TEST_F(SubmissionTest, SaysWhichBoxIsWrong) {
  const auto bad = [&](const char* old_part, const char* new_part) {
    EXPECT_ERROR(read_submission(write_box(old_part, new_part)), corrupt);
  };
  bad("[1, 2, 3], \"size\"", "[1, 2], \"size\"");
  bad("[1, 2, 3], \"size\"", "[1, NaN, 2], \"size\"");
  bad("[1, 0, 0, 0]", "[1, 0, 0, 0, 0]");
  bad("0.25", "NaN");
  bad("0.25", "\"high\"");
  bad("car", "tram");
  bad("\"\"", "\"parked\"");
  bad("\"velocity\": [0.5, NaN], ", "");
  bad("\"s\"", "\"t\"");
}

TEST_F(SubmissionTest, RefusesWhatIsNoSubmission) {
  EXPECT_ERROR(read_submission(dir_ / "none.json"), not_found);
  EXPECT_ERROR(read_submission(write("{\"meta\": {}}")), corrupt);
  EXPECT_ERROR(read_submission(write("{\"results\": {}}")), corrupt);
  EXPECT_ERROR(read_submission(write("[1, 2]")), corrupt);
  EXPECT_ERROR(read_submission(write("{\"results\": {\"s\": [{")), corrupt);
  EXPECT_ERROR(read_submission(write("")), corrupt);
  EXPECT_ERROR(read_submission(write_box("car", "bus"), 0), invalid_argument);
}

}  // namespace
}  // namespace ffkit::nuscenes
