// The task "rootnet": finds a person's root joint in camera coordinates from a crop of the picture,
// on records of persons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// All networks: RootNet on ResNet-50, 101 or 152, and micro, which learns on a CPU in minutes.
std::vector<std::string> rootnet_archs();

struct RootNetOptions : OwnOptions<RootNetOptions> {
  std::string arch = "resnet50";  // one of rootnet_archs()
  std::string train_split = "train";
  std::string val_split = "val";  // without such a split, test
  int64_t image_size = 0;         // side of a crop, pixels, a multiple of 32; 0: 256, for micro 64
  // With rotation_probability, a training crop is rotated by a normally distributed angle. This is
  // its standard deviation in degrees, 0 .. 90; the angle is at most twice that.
  double rotation = 30;
  double rotation_probability = 0.6;
  double flip = 0.5;   // probability that a training crop is mirrored
  double color = 0.2;  // each channel is multiplied by 1 - color .. 1 + color; 0 .. 1
  // Real size of the square that a person's box shows: k is the distance at which a square of this
  // side has the area of the box. In the set's unit: 2000 mm, or 2 m for 3DPW.
  double real_size = 2000;
  double ap_threshold = 250;  // a root that is found nearer than this to a true one is right
  // The backbone's first weights, if the run does not begin with others: torchvision's ResNet of
  // this depth. Empty: drawn at random.
  std::filesystem::path backbone_weights;

  int64_t resolved_image_size() const;
  void describe(OptionTable& table, const TrainOptions& general) override;
};

// The task's options in `options`. Without options of a task, `options` get rootnet's defaults.
inline RootNetOptions& rootnet(TrainOptions& options) {
  return options.task_options<RootNetOptions>();
}
inline const RootNetOptions& rootnet(const TrainOptions& options) {
  return options.task_options<RootNetOptions>();
}

}  // namespace ffkit
