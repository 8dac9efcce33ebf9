// DetectionEvaluation: a validation split scene by scene, with the bird's-eye view of the frame
// before, and nuScenes' metric over all processes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/nuscenes/detection.h>
#include <ffkit/trainer/task.h>

#include "tasks/bevformer/network/bevformer_network.h"

namespace ffkit {

// The keyframes of `split` that process `rank` of `world_size` validates: whole scenes, in order,
// the processes with about as many keyframes each. May be empty.
std::vector<int64_t> share_of_scenes(const Dataset& split, int rank, int world_size);

class DetectionEvaluation final : public Evaluation {
 public:
  // `share`: the keyframes of `split` that this process validates. `split` and `network` outlive
  // the evaluation. `is_bgr`: as frames_of().
  DetectionEvaluation(BevFormerNetwork& network, const Dataset& split, std::vector<int64_t> share,
                      bool is_bgr)
      : network_(network), split_(split), share_(std::move(share)), is_bgr_(is_bgr) {}

  // A keyframe of the share, in its order: DeviceBatch::record_indices are places in it.
  void add(const DeviceBatch& batch) override;
  // Without metrics where the split has no annotations.
  EvalResult finish(Peers& peers) override;
  void write_results(const std::filesystem::path& file) override;

 private:
  void gather(Peers& peers);

  BevFormerNetwork& network_;
  const Dataset& split_;
  const std::vector<int64_t> share_;
  const bool is_bgr_;
  int64_t scene_ = -1;        // of the keyframe before: the number of its first one
  at::Tensor bev_;            // likewise
  at::Tensor motion_before_;  // [1, 18], absolute
  // Keyframes that were seen, and their detections [R, 12] f64: number of the keyframe, box as
  // records have it, class, score.
  std::vector<int64_t> keyframes_;
  bool are_scores_finite_ = true;  // of what this process has seen
  std::vector<at::Tensor> detections_;
  nuscenes::Submission submission_;  // of all processes, on rank 0
};

// Of TaskEntry::metrics, in this order.
std::vector<MetricInfo> detection_metrics();

}  // namespace ffkit
