// The task "bevformer": objects in three dimensions from six cameras and earlier frames, on
// nuScenes' keyframes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/nuscenes/loading.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// All sizes: the published tiny, small and base, and micro, which learns on a CPU in minutes.
std::vector<std::string> bevformer_archs();

struct BevFormerOptions : OwnOptions<BevFormerOptions> {
  std::string arch = "tiny";  // one of bevformer_archs()
  // As nuscenes::split_there() takes it.
  std::string train_split = "train";
  std::string val_split = "val";
  // Keyframes of a training sample, 0 .. 100: the one whose objects are found, and those before it.
  // 0: as published, 3 or 4.
  int64_t queue_length = 0;
  double image_scale = 0;  // pictures are resized by this factor, 0 .. 4; 0: as published
  bool photometric_distortion = true;  // of training pictures
  double grid_mask = 0.7;       // probability that a grid covers a training sample's pictures
  bool empty_frames = false;    // also trains on keyframes without objects
  bool class_balanced = false;  // repeats keyframes with rare classes (CBGS; Zhu et al., 2019)
  // Where the motion of the vehicle comes from, beside its pose; with `none`, acceleration,
  // rotation rate and velocity are 0.
  nuscenes::CanBusRule can_bus = nuscenes::CanBusRule::bevformer_code;
  double backbone_lr = 0.1;  // learning rate of the backbone, as a share of lr, >= 0
  // The backbone's first weights, if the run does not begin with others: torchvision's ResNet, or a
  // detector's backbone. Empty: drawn at random.
  std::filesystem::path backbone_weights;
  // The backward pass computes the backbone's inner activations again instead of keeping them.
  bool recompute = false;

  void describe(OptionTable& table, const TrainOptions& general) override;
};

// The task's options in `options`. Without options of a task, `options` get bevformer's defaults.
inline BevFormerOptions& bevformer(TrainOptions& options) {
  return options.task_options<BevFormerOptions>();
}
inline const BevFormerOptions& bevformer(const TrainOptions& options) {
  return options.task_options<BevFormerOptions>();
}

}  // namespace ffkit
