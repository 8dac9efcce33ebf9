#include <cmath>

#include <ffkit/trainer/rootnet.h>

namespace ffkit {

std::vector<std::string> rootnet_archs() {
  return {"resnet50", "resnet101", "resnet152", "micro"};
}

int64_t RootNetOptions::resolved_image_size() const {
  if (image_size > 0) return image_size;
  return arch == "micro" ? 64 : 256;
}

void RootNetOptions::describe(OptionTable& t, const TrainOptions&) {
  t.group("Network");
  t.add("arch", arch, "RootNet's backbone").set_choices(rootnet_archs()).set_names_model();
  t.add("backbone-weights", backbone_weights,
        "Weights that the backbone starts from: torchvision's ResNet of --arch, or a RootNet; .pth "
        "or .safetensors")
      .set_local();
  t.group("Persons");
  t.add("train-split", train_split, "Split that is trained on")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split,
        "Split that is validated; where there is no val, test stands for it")
      .require(!val_split.empty(), "the name of a split");
  t.add("image-size", image_size, "Side of a person's crop in pixels; 0: 256, 64 for micro")
      .require(image_size >= 0 && image_size <= 4096 && image_size % 32 == 0,
               "a multiple of 32 up to 4096, or 0");
  t.add("real-size", real_size,
        "Side of the square that a person's box is taken for, in the set's unit: 2000 mm, or 2 m "
        "for 3DPW")
      .require(real_size > 0 && std::isfinite(real_size), "positive");
  t.add("ap-threshold", ap_threshold,
        "A root that is found nearer than this to a true one is right, in the set's unit")
      .require(ap_threshold > 0 && std::isfinite(ap_threshold), "positive");
  t.group("Augmentation");
  t.add("rotation", rotation,
        "Training crops are turned by an angle of this standard deviation, in degrees, cut off at "
        "two of them")
      .require(rotation >= 0 && rotation <= 90, "0 to 90");
  t.add("rotation-probability", rotation_probability, "Share of training crops that are turned")
      .require(rotation_probability >= 0 && rotation_probability <= 1, "0 to 1");
  t.add("flip", flip, "Share of training crops that are mirrored")
      .require(flip >= 0 && flip <= 1, "0 to 1");
  t.add("color", color, "Each channel of training crops is multiplied by up to 1 +- this")
      .require(color >= 0 && color <= 1, "0 to 1");
}

}  // namespace ffkit
