#include <fmt/format.h>

#include <cmath>

#include <ffkit/trainer/classification.h>

#include "format/enum_names.h"
#include "model/model_registry.h"

namespace ffkit {
namespace {

std::vector<std::string> interpolation_names() {
  std::vector<std::string> names;
  for (const Interpolation interpolation : kInterpolations) {
    names.emplace_back(to_string(interpolation));
  }
  return names;
}

void add_split_options(OptionTable& t, ClassificationOptions& o) {
  t.group("Splits");
  t.add("train-split", o.train_split, "Split that is trained on")
      .set_stored(o.train_split != ClassificationOptions().train_split)
      .require(!o.train_split.empty(), "the name of a split");
  t.add("val-split", o.val_split, "Split that is validated")
      .set_stored(o.val_split != ClassificationOptions().val_split)
      .require(!o.val_split.empty(), "the name of a split");
  t.add("val-share", o.val_share,
        "Validates this share of the training split instead of --val-split, and does not train on "
        "it. Which records it has depends on their ids alone: pictures that are added later change "
        "nothing for the others; 0: off")
      .set_stored(o.val_share != 0)
      .require(o.val_share >= 0 && o.val_share < 1, "0 or more and less than 1")
      .require(o.val_share == 0 || o.val_split == ClassificationOptions().val_split,
               "0 with a validation split of its own");
}

void add_picture_options(OptionTable& t, ClassificationOptions& o, const TrainOptions& general) {
  t.group("Pictures");
  t.add("image-size", o.image_size, "Width and height of training pictures, in pixels")
      .require(o.image_size >= 1 && o.image_size <= 16384, "1 to 16384");
  t.add("progressive-size", o.progressive_size,
        "Progressive resizing: width and height of training pictures in the first epochs; "
        "0: off")
      .require(o.progressive_size >= 0 && o.progressive_size <= o.image_size,
               fmt::format("1 to the image size, {}, or 0 for none", o.image_size));
  t.add_list<int64_t>(
       "progressive-epochs",
       {{"progressive_from", &o.progressive_from}, {"progressive_to", &o.progressive_to}},
       "FROM TO",
       "Progressive resizing: pictures have --progressive-size up to epoch FROM, grow in steps "
       "of 32 pixels, and have --image-size from epoch TO on; epochs are counted from 0")
      .require(o.progressive_size == 0 ||
                   (o.progressive_from >= 0 && o.progressive_from < o.progressive_to &&
                    o.progressive_to <= general.epochs),
               fmt::format("two numbers with 0 <= FROM < TO <= {}", general.epochs));
  t.add_list<double>("crop-scale",
                     {{"crop_scale_min", &o.crop_scale_min}, {"crop_scale_max", &o.crop_scale_max}},
                     "MIN MAX", "RandomResizedCrop: share of a picture's area that a crop takes")
      .require(
          o.crop_scale_min > 0 && o.crop_scale_min <= o.crop_scale_max && o.crop_scale_max <= 1,
          "two numbers with 0 < MIN <= MAX <= 1");
  t.add("eval-size", o.eval_size,
        "Validation: width and height of the central crop; 0: the same as --image-size")
      .require(o.eval_size >= 0 && o.eval_size <= 16384, "1 to 16384, or 0 for the image size");
  t.add("eval-resize", o.eval_resize,
        "Validation: the short side is resized to this before the crop; 0: the crop's "
        "side * 256 / 224")
      .require(o.eval_resize >= 0, "at least 1, or 0 for the default");
  t.add_choice("interpolation", o.interpolation, parse_interpolation, interpolation_names(),
               "Filter of all resizing: Pillow's pixels, or OpenCV's")
      .require(is_built(o.interpolation),
               "bilinear or bicubic in a build without OpenCV (-DFFKIT_OPENCV=ON has it)");
}

void add_augmentation_options(OptionTable& t, ClassificationOptions& o) {
  t.group("Augmentation");
  t.add_choice("auto-augment", o.auto_augment, parse_auto_augment,
               {"none", "randaugment", "trivialaugment"}, "Automatic augmentation policy");
  t.add("randaugment-ops", o.randaugment_ops, "RandAugment: number of operations on each picture")
      .require(o.randaugment_ops >= 0 && o.randaugment_ops <= 100, "0 to 100");
  t.add("randaugment-magnitude", o.randaugment_magnitude,
        "RandAugment: strength of the operations, 0 to 30")
      .require(o.randaugment_magnitude >= 0 && o.randaugment_magnitude <= 30, "0 to 30");
  const auto is_strength = [](double s) { return s >= 0 && std::isfinite(s); };
  t.add_list<double>("color-jitter",
                     {{"jitter_brightness", &o.jitter_brightness},
                      {"jitter_contrast", &o.jitter_contrast},
                      {"jitter_saturation", &o.jitter_saturation},
                      {"jitter_hue", &o.jitter_hue}},
                     "BRIGHTNESS CONTRAST SATURATION HUE",
                     "ColorJitter: largest random change of each property, as a share")
      .require(is_strength(o.jitter_brightness) && is_strength(o.jitter_contrast) &&
                   is_strength(o.jitter_saturation) && o.jitter_hue >= 0 && o.jitter_hue <= 0.5,
               "four numbers of 0 or more, the last at most 0.5");
  t.add("random-erasing", o.random_erasing,
        "RandomErasing: probability that a rectangle of a picture is erased")
      .require(o.random_erasing >= 0 && o.random_erasing <= 1, "0 to 1");
  t.add("mixup-alpha", o.mixup_alpha, "MixUp: its alpha; 0: off")
      .require(o.mixup_alpha >= 0 && o.mixup_alpha <= 1000, "0 to 1000");
  t.add("cutmix-alpha", o.cutmix_alpha,
        "CutMix: its alpha; 0: off. Where MixUp is on too, each batch takes one of them")
      .require(o.cutmix_alpha >= 0 && o.cutmix_alpha <= 1000, "0 to 1000");
}

}  // namespace

std::vector<std::string> arch_names() {
  return ModelRegistry::instance().names();
}

constexpr EnumName<AutoAugmentMethod> kAutoAugmentNames[] = {
    {AutoAugmentMethod::none, "none"},
    {AutoAugmentMethod::randaugment, "randaugment"},
    {AutoAugmentMethod::trivialaugment, "trivialaugment"}};
std::string_view to_string(AutoAugmentMethod policy) {
  return name_of(kAutoAugmentNames, policy);
}

AutoAugmentMethod parse_auto_augment(std::string_view name) {
  return value_of(kAutoAugmentNames, name, "auto augmentation");
}

int64_t ClassificationOptions::resolved_eval_size() const {
  return eval_size > 0 ? eval_size : image_size;
}

int64_t ClassificationOptions::resolved_eval_resize() const {
  return eval_resize > 0 ? eval_resize : std::llround(double(resolved_eval_size()) * 256.0 / 224.0);
}

void ClassificationOptions::describe(OptionTable& t, const TrainOptions& general) {
  // Where checkpoints had them before there were tasks.
  t.store_behind("data");
  add_split_options(t, *this);
  t.group("Network");
  t.add("arch", arch, "Model; names are torchvision's").set_choices(arch_names()).set_names_model();
  t.store_behind("pretrained");
  add_picture_options(t, *this, general);
  add_augmentation_options(t, *this);
  t.store_behind("clip-grad-norm");
  t.group("Network");
  t.add("label-smoothing", label_smoothing, "Label smoothing in training")
      .require(label_smoothing >= 0 && label_smoothing < 1, "0 or more and less than 1");
  t.add(
       "dropout", dropout,
       "Probability that an input of the head is dropped in training; -1: the model's own, 0.2 for "
       "MobileNet and EfficientNet and 0 for the others")
      .set_stored(dropout != -1)
      .require(dropout == -1 || (dropout >= 0 && dropout < 1), "0 or more and less than 1, or -1");
  t.add("class-weights", class_weights,
        "Weights of the classes in the training loss: balanced, inversely to their numbers of "
        "pictures, or a file of lines CLASS WEIGHT or a JSON object")
      .set_stored(!class_weights.empty());
  t.add("balance", balance,
        "Draws each class equally often in training, with replacement, whatever its number of "
        "pictures")
      .set_stored(balance)
      .require(!balance || !general.data.are_several(), "off with several data sets")
      .require(!balance || general.order == SampleOrder::automatic, "off with an order of samples");
  t.store_behind("ema-steps");
  t.add("zero-init-residual", zero_init_residual,
        "Initialises the last norm of each residual block with 0");
  t.store_behind("loss-scale");
  t.add("channels-last", channels_last,
        "Memory format NHWC for pictures and convolutions (default: on)");
}

}  // namespace ffkit
