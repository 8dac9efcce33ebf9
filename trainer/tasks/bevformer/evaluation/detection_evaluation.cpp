#include "tasks/bevformer/evaluation/detection_evaluation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>

#include <ffkit/nuscenes/detection_results.h>
#include <ffkit/nuscenes/windows.h>

#include "base/make_error.h"
#include "tasks/bevformer/data/bevformer_data.h"
#include "tasks/bevformer/loss/detection_loss.h"

namespace ffkit {
namespace {

constexpr int64_t kDetectionColumns = 12;
constexpr std::array<const char*, 7> kMetrics = {"nds",  "map",  "mate", "mase",
                                                 "maoe", "mave", "maae"};
constexpr std::array<const char*, 7> kTitles = {"NDS",  "mAP",  "mATE", "mASE",
                                                "mAOE", "mAVE", "mAAE"};

std::array<double, kMetrics.size()> numbers_of(const nuscenes::DetectionMetrics& metrics) {
  std::array<double, kMetrics.size()> out = {metrics.nd_score, metrics.mean_ap};
  std::copy(metrics.tp_errors.begin(), metrics.tp_errors.end(), out.begin() + 2);
  return out;
}

std::vector<nuscenes::KeyframeDetections> by_keyframe(const std::vector<int64_t>& keyframes,
                                                      const at::Tensor& rows) {
  std::vector<nuscenes::KeyframeDetections> out;
  for (size_t i = 0; i < keyframes.size(); ++i) {
    out.push_back({.keyframe = static_cast<int64_t>(i), .boxes = {}});
  }
  const auto* number = rows.const_data_ptr<double>();
  for (int64_t i = 0; i < rows.size(0); ++i, number += kDetectionColumns) {
    const auto place =
        std::lower_bound(keyframes.begin(), keyframes.end(), static_cast<int64_t>(number[0]));
    nuscenes::LidarDetection box;
    std::copy_n(number + 1, box.box.size(), box.box.begin());
    box.class_number = static_cast<int>(number[10]);
    box.score = number[11];
    out[place - keyframes.begin()].boxes.push_back(box);
  }
  return out;
}

}  // namespace

std::vector<MetricInfo> detection_metrics() {
  std::vector<MetricInfo> out;
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    // NDS and mAP are published as hundredths.
    const bool is_score = i < 2;
    out.push_back({.name = kMetrics[i],
                   .title = kTitles[i],
                   .scale = is_score ? 100.0 : 1.0,
                   .digits = is_score ? 2 : 3,
                   .unit = is_score ? "%" : ""});
  }
  return out;
}

std::vector<int64_t> share_of_scenes(const Dataset& split, int rank, int world_size) {
  const auto starts = nuscenes::scene_groups(split);
  const auto end_of = [&](size_t scene) {
    return scene + 1 < starts->size() ? (*starts)[scene + 1] : split.num_records();
  };
  std::vector<size_t> scenes(starts->size());
  std::iota(scenes.begin(), scenes.end(), size_t{0});
  // The longest first, each to the process that has the fewest keyframes.
  std::stable_sort(scenes.begin(), scenes.end(), [&](size_t a, size_t b) {
    return end_of(a) - (*starts)[a] > end_of(b) - (*starts)[b];
  });
  std::vector<int64_t> loads(world_size, 0);
  std::vector<size_t> own;
  for (const size_t scene : scenes) {
    const auto lightest = std::min_element(loads.begin(), loads.end());
    *lightest += end_of(scene) - (*starts)[scene];
    if (lightest - loads.begin() == rank) own.push_back(scene);
  }
  std::sort(own.begin(), own.end());
  std::vector<int64_t> out;
  for (const size_t scene : own) {
    for (int64_t i = (*starts)[scene]; i < end_of(scene); ++i) out.push_back(i);
  }
  return out;
}

void DetectionEvaluation::add(const DeviceBatch& batch) {
  const int64_t keyframe = share_.at(batch.record_indices.at(0));
  const auto frame_index = batch.field("frame_index").item<int64_t>();
  // A scene whose first keyframes are left out does not follow the scene before it.
  const int64_t scene = keyframe - frame_index;
  const bool has_previous = std::exchange(scene_, scene) == scene;
  const at::Tensor absolute = batch.field("motion").cpu().clone();
  at::Tensor motion = has_previous ? at::cat({motion_before_, absolute}) : absolute.clone();
  std::vector<uint8_t> follows(motion.size(0), 0);
  if (has_previous) follows.back() = 1;
  nuscenes::to_differences({motion.mutable_data_ptr<double>(), static_cast<size_t>(motion.numel())},
                           follows);
  motion = motion.narrow(0, motion.size(0) - 1, 1);
  motion_before_ = absolute;
  at::Tensor images = batch.field("images");
  if (is_bgr_) images = images.flip({2});
  const BevFrame frame{.images = images,
                       .lidar2img = batch.field("lidar_to_image").to(at::kDouble),
                       .can_bus = motion,
                       .has_previous = at::full({1}, has_previous, at::kBool)};
  const BevDetections found = network_.detect(frame, has_previous ? bev_ : at::Tensor());
  bev_ = found.bev;
  const int64_t last = found.logits.size(0) - 1;
  const DetectedBoxes boxes =
      decode_boxes(found.logits[last][0].to(at::kFloat), found.boxes[last][0].to(at::kFloat), {});
  keyframes_.push_back(keyframe);
  const at::Tensor numbers = from_published_boxes(boxes.boxes).to(at::kCPU, at::kDouble);
  const at::Tensor rows =
      at::cat({at::full({numbers.size(0), 1}, static_cast<double>(keyframe), at::kDouble), numbers,
               boxes.labels.to(at::kCPU, at::kDouble).unsqueeze(1),
               boxes.scores.to(at::kCPU, at::kDouble).unsqueeze(1)},
              1);
  are_scores_finite_ = are_scores_finite_ && boxes.scores.isfinite().all().item<bool>();
  // Sizes are exponentials: a network that has hardly been trained may predict one that is no
  // number, and then has not found the object.
  detections_.push_back(rows.index_select(0, rows.isfinite().all(1).nonzero().squeeze(1)));
}

// All of what the processes found, on rank 0.
void DetectionEvaluation::gather(Peers& peers) {
  detections_.insert(detections_.begin(), at::zeros({0, kDetectionColumns}, at::kDouble));
  detections_ = peers.gather_rows(at::cat(detections_));
  std::vector<int64_t> all;
  for (const at::Tensor& share : peers.gather_rows(at::tensor(keyframes_, at::kLong))) {
    const auto* number = share.const_data_ptr<int64_t>();
    all.insert(all.end(), number, number + share.numel());
  }
  std::sort(all.begin(), all.end());
  keyframes_ = std::move(all);
}

EvalResult DetectionEvaluation::finish(Peers& peers) {
  gather(peers);
  at::Tensor num_wrong = at::full({1}, are_scores_finite_ ? 0.0 : 1.0, at::kDouble);
  peers.sum(num_wrong);
  if (num_wrong.item<double>() > 0) {
    return {.count = std::ssize(keyframes_),
            .diverged = "the scores that the network gives are not finite"};
  }
  // Rank 0 computes for all; the last number says that it could: 1, or 2 where there is nothing to
  // compare with.
  at::Tensor sums = at::zeros({std::ssize(kMetrics) + 1}, at::kDouble);
  std::exception_ptr error;
  if (peers.rank() == 0 && !keyframes_.empty()) {
    try {
      const Dataset seen = split_.subset(keyframes_);
      submission_ = nuscenes::make_submission(seen, by_keyframe(keyframes_, at::cat(detections_)));
      const bool has_truth = nuscenes::has_annotations(seen);
      if (has_truth) {
        const auto numbers =
            numbers_of(nuscenes::evaluate(nuscenes::read_ground_truth(seen), submission_));
        std::copy(numbers.begin(), numbers.end(), sums.mutable_data_ptr<double>());
      }
      sums[-1] = has_truth ? 1 : 2;
    } catch (const std::exception&) {
      error = std::current_exception();
    }
  }
  peers.sum(sums);
  if (error) std::rethrow_exception(error);
  const auto outcome = sums[-1].item<double>();
  if (outcome == 0) {
    throw dataset_error(split_.path(), ErrorCode::invalid_argument,
                        keyframes_.empty()
                            ? "no keyframe was validated; give a validation split with scenes"
                            : "rank 0 could not compute the metric; see its message");
  }
  EvalResult result{.count = std::ssize(keyframes_), .metrics = {}};
  if (outcome == 2) {
    result.no_metrics =
        fmt::format("{} has no annotations, like the test split", split_.path().string());
    return result;
  }
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    result.metrics.emplace_back(kMetrics[i], sums[static_cast<int64_t>(i)].item<double>());
  }
  return result;
}

void DetectionEvaluation::write_results(const std::filesystem::path& file) {
  nuscenes::write_submission(file, submission_);
}

}  // namespace ffkit
