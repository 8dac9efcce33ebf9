#include <fmt/format.h>

#include <cmath>

#include <ffkit/trainer/picture_options.h>

namespace ffkit {
namespace {

void add_picture_options(OptionTable& t, PictureOptions& o, int64_t epochs) {
  t.group("Pictures");
  t.add("image-size", o.image_size, "Width and height of training pictures, in pixels")
      .require(o.image_size >= 1 && o.image_size <= 16384, "between 1 and 16384");
  t.add("progressive-size", o.progressive_size,
        "Width and height of training pictures in the first epochs, in pixels, for progressive "
        "resizing. 0 means no progressive resizing")
      .require(o.progressive_size >= 0 && o.progressive_size <= o.image_size,
               fmt::format("between 1 and {}, the image size, or 0 for none", o.image_size));
  t.add_list<int64_t>(
       "progressive-epochs",
       {{"progressive_from", &o.progressive_from}, {"progressive_to", &o.progressive_to}},
       "FROM TO",
       "Epochs in which progressive resizing changes the size of pictures. Pictures have "
       "--progressive-size up to epoch FROM, then grow in steps of 32 pixels, and have "
       "--image-size from epoch TO on. The first epoch has number 0")
      .require(o.progressive_size == 0 ||
                   (o.progressive_from >= 0 && o.progressive_from < o.progressive_to &&
                    o.progressive_to <= epochs),
               fmt::format("two numbers FROM and TO, with 0 <= FROM < TO <= {}", epochs));
  t.add_list<double>(
       "crop-scale", {{"crop_scale_min", &o.crop_scale_min}, {"crop_scale_max", &o.crop_scale_max}},
       "MIN MAX", "Smallest and largest share of a picture's area that RandomResizedCrop cuts out")
      .require(
          o.crop_scale_min > 0 && o.crop_scale_min <= o.crop_scale_max && o.crop_scale_max <= 1,
          "two numbers MIN and MAX, with 0 < MIN <= MAX <= 1");
  t.add("hflip", o.hflip, "Probability that a training picture is mirrored left and right")
      .require(o.hflip >= 0 && o.hflip <= 1, "between 0 and 1");
  t.add("eval-size", o.eval_size,
        "Width and height of the central crop in validation, in pixels. 0 means the value of "
        "--image-size")
      .require(o.eval_size >= 0 && o.eval_size <= 16384,
               "between 1 and 16384, or 0 for the image size");
  t.add("eval-resize", o.eval_resize,
        "Length of a picture's short side in validation after the resize and before the crop, in "
        "pixels. 0 means the side of the crop * 256 / 224")
      .require(o.eval_resize >= 0, "at least 1, or 0 for the default");
  t.add_choice("interpolation", o.interpolation,
               "Filter that resizes pictures. 'bilinear' and 'bicubic' give the same pixels as "
               "Pillow, and 'opencv_bilinear' gives the same pixels as OpenCV")
      .require(is_built(o.interpolation),
               "bilinear or bicubic in a build without OpenCV (-DFFKIT_OPENCV=ON has it)");
}

void add_augmentation_options(OptionTable& t, PictureOptions& o) {
  t.group("Augmentation");
  t.add_choice("auto-augment", o.auto_augment, "Automatic augmentation policy");
  t.add("randaugment-ops", o.randaugment_ops,
        "Number of operations that RandAugment makes on each picture")
      .require(o.randaugment_ops >= 0 && o.randaugment_ops <= 100, "between 0 and 100");
  t.add("randaugment-magnitude", o.randaugment_magnitude,
        "Strength of the operations of RandAugment, from 0 to 30")
      .require(o.randaugment_magnitude >= 0 && o.randaugment_magnitude <= 30, "between 0 and 30");
  const auto is_strength = [](double s) { return s >= 0 && std::isfinite(s); };
  t.add_list<double>("color-jitter",
                     {{"jitter_brightness", &o.jitter_brightness},
                      {"jitter_contrast", &o.jitter_contrast},
                      {"jitter_saturation", &o.jitter_saturation},
                      {"jitter_hue", &o.jitter_hue}},
                     "BRIGHTNESS CONTRAST SATURATION HUE",
                     "Largest random change that ColorJitter makes to each property, as a share")
      .require(is_strength(o.jitter_brightness) && is_strength(o.jitter_contrast) &&
                   is_strength(o.jitter_saturation) && o.jitter_hue >= 0 && o.jitter_hue <= 0.5,
               "four numbers of 0 or more, and the fourth number must be at most 0.5");
  t.add("random-erasing", o.random_erasing,
        "Probability that RandomErasing erases a rectangle of a picture")
      .require(o.random_erasing >= 0 && o.random_erasing <= 1, "between 0 and 1");
  t.add("mixup-alpha", o.mixup_alpha, "Parameter alpha of MixUp. 0 means no MixUp")
      .require(o.mixup_alpha >= 0 && o.mixup_alpha <= 1000, "between 0 and 1000");
  t.add("cutmix-alpha", o.cutmix_alpha,
        "Parameter alpha of CutMix. 0 means no CutMix. If you use both MixUp and CutMix, each "
        "batch uses one of them")
      .require(o.cutmix_alpha >= 0 && o.cutmix_alpha <= 1000, "between 0 and 1000");
}

}  // namespace

int64_t PictureOptions::resolved_eval_size() const {
  return eval_size > 0 ? eval_size : image_size;
}

int64_t PictureOptions::resolved_eval_resize() const {
  return eval_resize > 0 ? eval_resize : std::llround(resolved_eval_size() * 256.0 / 224.0);
}

void describe_pictures(PictureOptions& options, OptionTable& table, int64_t epochs) {
  add_picture_options(table, options, epochs);
  add_augmentation_options(table, options);
}

// In the order of torchvision's recipes: colours first, then the policy.
std::string training_transforms(const PictureOptions& o, int64_t size) {
  std::string text =
      fmt::format("RandomResizedCrop({}, scale=({}, {}), interpolation='{}', flip_probability={})",
                  size, o.crop_scale_min, o.crop_scale_max, to_string(o.interpolation), o.hflip);
  if (o.jitter_brightness > 0 || o.jitter_contrast > 0 || o.jitter_saturation > 0 ||
      o.jitter_hue > 0) {
    text += fmt::format(", ColorJitter({}, {}, {}, {})", o.jitter_brightness, o.jitter_contrast,
                        o.jitter_saturation, o.jitter_hue);
  }
  if (o.auto_augment == AutoAugmentMethod::randaugment) {
    text += fmt::format(", RandAugment({}, {})", o.randaugment_ops, o.randaugment_magnitude);
  } else if (o.auto_augment == AutoAugmentMethod::trivialaugment) {
    text += ", TrivialAugmentWide()";
  }
  if (o.random_erasing > 0) text += fmt::format(", RandomErasing({})", o.random_erasing);
  return text;
}

}  // namespace ffkit
