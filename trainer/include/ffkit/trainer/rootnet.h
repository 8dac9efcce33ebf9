// The task "rootnet": where a person's root joint is before the camera, from a crop of the picture,
// on records of persons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

namespace ffkit {

// The networks there are: RootNet on ResNet-50, 101 or 152, and micro, which learns on a CPU in
// minutes.
std::vector<std::string> rootnet_archs();

struct RootNetOptions : OwnOptions<RootNetOptions> {
  std::string arch = "resnet50";  // one of rootnet_archs()
  std::string train_split = "train";
  std::string val_split = "val";  // where there is none of this name, test
  int64_t image_size = 0;         // side of a crop, pixels, a multiple of 32; 0: 256, 64 of micro
  // Of training crops: turned by a normally distributed angle of this deviation, cut off at two of
  // them, with rotation_probability; mirrored with flip; each channel times 1 - color .. 1 + color.
  double rotation = 30;  // degrees, 0 .. 90
  double rotation_probability = 0.6;
  double flip = 0.5;
  double color = 0.2;  // 0 .. 1
  // Side of the square that a person's box is taken for: k is the distance at which it has the
  // box's area. In the set's unit: 2000 mm, or 2 m for 3DPW.
  double real_size = 2000;
  double ap_threshold = 250;  // a root that is found nearer than this to a true one is right
  // Of the backbone, for weights drawn anew: torchvision's ResNet of this depth. Empty: drawn anew,
  // too.
  std::filesystem::path backbone_weights;

  int64_t resolved_image_size() const;
  void describe(OptionTable& table, const TrainOptions& general) override;
};

// Those of `options`, which become rootnet's where they have none of a task yet.
inline RootNetOptions& rootnet(TrainOptions& options) {
  return options.task_options<RootNetOptions>();
}
inline const RootNetOptions& rootnet(const TrainOptions& options) {
  return options.task_options<RootNetOptions>();
}

}  // namespace ffkit
