// The task "bevformer": objects in three dimensions from six cameras and the frames before, on
// nuScenes' keyframes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// The sizes there are: the published tiny, small and base, and micro, which learns on a CPU in
// minutes.
std::vector<std::string> bevformer_archs();

// What the motion of the ego is taken from, beside its pose.
enum class BevFormerCanBus {
  none,      // nothing: acceleration, rotation rate and velocity are 0
  last_row,  // the CAN bus' last message up to the keyframe
  // the message that the published conversion takes, which is a later one
  // (nuscenes::CanBusRule::bevformer_code)
  as_published,
};
std::string_view to_string(BevFormerCanBus can_bus);
BevFormerCanBus parse_bevformer_can_bus(std::string_view name);

struct BevFormerOptions : OwnOptions<BevFormerOptions> {
  std::string arch = "tiny";  // one of bevformer_archs()
  // Where there is none of this name, that of v1.0-mini is taken: "mini_train" for "train".
  std::string train_split = "train";
  std::string val_split = "val";
  // Keyframes of a training sample: the one whose objects are found, and those before it. 0: as
  // published, 3 or 4.
  int64_t queue_length = 0;  // 0 .. 100
  double image_scale = 0;    // pictures are resized by this factor; 0: as published; 0 .. 4
  bool photometric_distortion = true;  // of training pictures
  double grid_mask = 0.7;       // probability that a grid covers a training sample's pictures
  bool empty_frames = false;    // trains on keyframes without objects, too
  bool class_balanced = false;  // repeats keyframes with rare classes (CBGS; Zhu et al., 2019)
  BevFormerCanBus can_bus = BevFormerCanBus::as_published;
  double backbone_lr = 0.1;  // learning rate of the backbone, as a share of lr, >= 0
  // Of the backbone, for weights drawn anew: torchvision's ResNet, or a detector's backbone. Empty:
  // drawn anew, too.
  std::filesystem::path backbone_weights;
  // Computes the backbone's inner activations again in the backward pass instead of keeping them.
  bool recompute = false;

  void describe(OptionTable& table, const TrainOptions& general) override;
};

// Those of `options`, which become bevformer's where they have none of a task yet.
inline BevFormerOptions& bevformer(TrainOptions& options) {
  return options.task_options<BevFormerOptions>();
}
inline const BevFormerOptions& bevformer(const TrainOptions& options) {
  return options.task_options<BevFormerOptions>();
}

}  // namespace ffkit
