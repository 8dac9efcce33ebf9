#include <cmath>

#include <ffkit/trainer/bevformer.h>

#include "base/enum_names.h"

namespace ffkit {

std::vector<std::string> bevformer_archs() {
  return {"tiny", "small", "base", "micro"};
}

constexpr EnumName<BevFormerCanBus> kBevFormerCanBusNames[] = {
    {BevFormerCanBus::none, "none"},
    {BevFormerCanBus::last_row, "last_row"},
    {BevFormerCanBus::as_published, "as_published"}};
std::string_view to_string(BevFormerCanBus can_bus) {
  return name_of(kBevFormerCanBusNames, can_bus);
}

BevFormerCanBus parse_bevformer_can_bus(std::string_view name) {
  return value_of(kBevFormerCanBusNames, name, "CAN bus rule");
}

void BevFormerOptions::describe(OptionTable& t, const TrainOptions&) {
  t.group("Network");
  t.add("arch", arch, "Size of the network").set_choices(bevformer_archs()).set_names_model();
  t.add("backbone-weights", backbone_weights,
        "Weights that the backbone starts from: torchvision's ResNet-50 for tiny, a detector with "
        "ResNet-101 and deformable convolutions for small and base; .pth or .safetensors")
      .set_local();
  t.add("backbone-lr", backbone_lr, "Learning rate of the backbone, as a share of --lr")
      .require(backbone_lr >= 0 && std::isfinite(backbone_lr), "0 or more");
  t.add("recompute", recompute,
        "Computes the backbone's activations again in the backward pass, which takes less memory "
        "and more time")
      .require(!recompute || arch != "micro",
               "off for micro, whose batch norms would count each batch twice");
  t.group("Keyframes");
  t.add("train-split", train_split,
        "Split that is trained on; of v1.0-mini, mini_train stands for train")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split, "Split that is validated; train shows the result after overfitting")
      .require(!val_split.empty(), "the name of a split");
  t.add("queue-length", queue_length,
        "Keyframes of a training sample: the one whose objects are found, and those before it; 0: "
        "as published, 3 or 4")
      .require(queue_length >= 0 && queue_length <= 100, "1 to 100, or 0 for the published number");
  t.add("image-scale", image_scale,
        "Factor by which pictures are resized; 0: as published, 0.5 to 1")
      .require(image_scale >= 0 && image_scale <= 4, "more than 0 and at most 4, or 0");
  t.add_choice("can-bus", can_bus, parse_bevformer_can_bus, {"none", "last_row", "as_published"},
               "Which message of the CAN bus is a keyframe's, where the data set has them");
  t.add("empty-frames", empty_frames, "Trains on keyframes without objects, too");
  t.add("class-balanced", class_balanced,
        "Class-balanced sampling (CBGS): repeats keyframes that have objects of rare classes");
  t.group("Augmentation");
  t.add("photometric-distortion", photometric_distortion,
        "Random brightness, contrast, saturation and hue of training pictures (default: on)");
  t.add("grid-mask", grid_mask,
        "GridMask: probability that a grid covers the pictures of a training sample")
      .require(grid_mask >= 0 && grid_mask <= 1, "0 to 1");
}

}  // namespace ffkit
