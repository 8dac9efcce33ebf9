// The operations that RandAugment, TrivialAugmentWide and AutoAugment choose from, their magnitudes
// and the choice. Tables and order are those of torchvision/transforms/v2/_auto_augment.py.
#pragma once

#include <array>
#include <cstdint>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/random.h>
#include <ffkit/image/view_geometry.h>

namespace ffkit {

enum class AugmentOp : uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
  invert,  // AutoAugment's alone
};
constexpr int kNumAugmentOps = 14;  // without it

// torch.linspace(0, end, num_bins)[bin] of f32, and so on; 0 for operations without a magnitude.
// `size` is the picture's.
double rand_augment_magnitude(AugmentOp op, int bin, int num_bins, ImageSize size);
double trivial_augment_magnitude(AugmentOp op, int bin, int num_bins);

struct DrawnOp {
  AugmentOp op = AugmentOp::identity;
  double magnitude = 0;  // with its sign
};
DrawnOp draw_op(const RandAugment& options, ImageSize size, CounterRandom& random);
DrawnOp draw_op(const TrivialAugmentWide& options, CounterRandom& random);
std::array<DrawnOp, 2> draw_ops(const AutoAugment& options, ImageSize size, CounterRandom& random);

// _apply_image_or_video_transform(); `scratch` as in pixel_ops.h.
void apply_op(const RgbImage& image, const DrawnOp& drawn, RgbColor fill, uint8_t* scratch);

// The same of places: where pixels of the new picture of width x height pixels lie in the old one.
// The identity for operations on colours.
ViewMatrix source_of(const DrawnOp& drawn, int width, int height);

}  // namespace ffkit
