#include "tasks/rootnet/data/rootnet_data.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include <ffkit/pose/person_record.h>
#include <ffkit/pose/root_truth.h>
#include <ffkit/trainer/rootnet.h>

#include "base/make_error.h"
#include "tasks/rootnet/data/person_crop.h"

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
  t.add("arch", arch, "Backbone of RootNet").set_choices(rootnet_archs()).set_names_model();
  t.add("backbone-weights", backbone_weights,
        "File (.pth or .safetensors) with the first weights of the backbone, from torchvision's "
        "ResNet of --arch or from a RootNet")
      .set_local();
  t.group("Persons");
  t.add("train-split", train_split, "Split to train on")
      .require(!train_split.empty(), "the name of a split");
  t.add("val-split", val_split,
        "Split to validate on. If there is no split val, the split test is used")
      .require(!val_split.empty(), "the name of a split");
  t.add("image-size", image_size,
        "Width and height of a person's crop, in pixels. 0 means 256, or 64 with --arch micro")
      .require(image_size >= 0 && image_size <= 4096 && image_size % 32 == 0,
               "a multiple of 32 up to 4096, or 0");
  t.add("real-size", real_size,
        "Real size of the square that a person's box shows, in the unit of the data set. It is "
        "2000 mm, or 2 m for 3DPW")
      .require(real_size > 0 && std::isfinite(real_size), "positive");
  t.add("ap-threshold", ap_threshold,
        "For AP, largest distance between a found root and the true root, in the unit of the data "
        "set. A found root within this distance is right")
      .require(ap_threshold > 0 && std::isfinite(ap_threshold), "positive");
  t.group("Augmentation");
  t.add("rotation", rotation,
        "Standard deviation of the random angle by which training crops are rotated, in degrees. "
        "The angle is at most twice this number")
      .require(rotation >= 0 && rotation <= 90, "between 0 and 90");
  t.add("rotation-probability", rotation_probability, "Share of training crops that are rotated")
      .require(rotation_probability >= 0 && rotation_probability <= 1, "between 0 and 1");
  t.add("flip", flip, "Share of training crops that are mirrored")
      .require(flip >= 0 && flip <= 1, "between 0 and 1");
  t.add("color", color,
        "Largest random change of the channels of training crops. With 0.2, each channel is "
        "multiplied by a factor from 0.8 to 1.2")
      .require(color >= 0 && color <= 1, "between 0 and 1");
}

std::string rootnet_misfit(const Schema& schema) {
  namespace p = pose::person;
  for (const char* name : {p::kImage, p::kBox, p::kFocal, p::kCentre, p::kRootImage, p::kRootCamera,
                           p::kRootVisible, p::kHasDepth}) {
    if (schema.index_of(name) >= 0) continue;
    return fmt::format(
        "the data set has no field '{}'; RootNet trains on records of persons, as `ffconvert coco "
        "--persons` writes them",
        name);
  }
  return {};
}

namespace {

// A depth of 3 would be 3 m in one set and 3 mm in another.
Dataset with_one_unit(Dataset persons) {
  std::string first_unit, first_path;
  for (int64_t i = 0; i < persons.num_sources(); ++i) {
    const Dataset source = persons.source(i);
    const std::string unit(pose::length_unit(source.manifest()));
    if (unit.empty()) continue;
    if (first_unit.empty()) {
      first_unit = unit;
      first_path = source.path().string();
    }
    if (unit == first_unit) continue;
    throw dataset_error(source.path(), ErrorCode::invalid_argument,
                        "its lengths are in {}, but the lengths of {} are in {}, so they cannot be "
                        "mixed; train on one of them",
                        unit, first_path, first_unit);
  }
  return persons;
}

}  // namespace

Dataset open_training_persons(const TrainOptions& options, const std::string& name) {
  return with_one_unit(open_mixed_split(options, {name}, rootnet_misfit));
}

Dataset open_validation_persons(const TrainOptions& options, const std::string& name) {
  std::vector<std::string> names = {name};
  if (name == "val") names.emplace_back("test");
  return with_one_unit(open_mixed_validation(options, names, rootnet_misfit));
}

LoaderOptions person_loader_options(const TrainOptions& options, const ProcessPlace& place,
                                    c10::Device device, const Schema& schema, bool is_training) {
  const RootNetOptions& own = rootnet(options);
  CropAugmentation augmentation;
  if (is_training) {
    augmentation = {.rotation = own.rotation,
                    .rotation_probability = own.rotation_probability,
                    .flip = own.flip,
                    .color = own.color};
  }
  const int64_t size = own.resolved_image_size();
  LoaderOptions out = common_loader_options(options, place, device);
  out.image_field = out.label_field = "";
  out.fields = {{"crop", person_crop_decoder(schema, size, augmentation)},
                {"target", crop_target_decoder(schema, size, own.real_size, augmentation)}};
  out.sampler.order = Order::sequential;
  if (is_training) {
    set_training_order(options, out.sampler);
    out.sampler.mixture = training_mixture(options);
  }
  out.sampler.tail = is_training ? Tail::drop : Tail::exact;
  out.io.read_ahead_epochs = is_training;
  return out;
}

at::Tensor normalised_crops(const at::Tensor& crops, const at::Tensor& targets) {
  const auto by_channel = [&](const at::Tensor& t) { return t.view({-1, 3, 1, 1}); };
  const at::TensorOptions like = targets.options();
  const at::Tensor mean = at::tensor({0.485, 0.456, 0.406}, like.dtype(at::kDouble)).to(at::kFloat);
  const at::Tensor deviation =
      at::tensor({0.229, 0.224, 0.225}, like.dtype(at::kDouble)).to(at::kFloat);
  at::Tensor x = crops.permute({0, 3, 1, 2}).to(at::kFloat);
  const at::Tensor factors = targets.narrow(1, CropTarget::kRed, 3).contiguous();
  x.mul_(by_channel(factors)).clamp_(0, 255);
  return x.sub_(by_channel(mean)).div_(by_channel(deviation));
}

at::Tensor network_input(const DeviceBatch& batch) {
  return normalised_crops(batch.field("crop"), batch.field("target"));
}

BatchTarget target_of(const DeviceBatch& batch) {
  const at::Tensor& target = batch.field("target");
  return {.coordinates = target.narrow(1, CropTarget::kX, 3),
          .visible = target.select(1, CropTarget::kVisible),
          .have_depth = target.select(1, CropTarget::kHaveDepth),
          .k = target.select(1, CropTarget::kK)};
}

}  // namespace ffkit
