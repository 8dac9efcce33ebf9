// Operations on pixels, each with all its parameters given: torchvision.transforms.functional on
// PIL images, to the bit.
//
// Sources: torchvision/transforms/_functional_pil.py; Pillow's ImageEnhance.py, ImageOps.py,
// Image.py (rotate) and libImaging (Blend.c, Convert.c, Filter.c, Geometry.c). `scratch` holds
// num_bytes() + kScratchSlack bytes. Pictures are at most 8192 pixels high and wide.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ffkit/image/rgb_image.h>

namespace ffkit {

constexpr size_t kScratchSlack = 64;

// factor 0: black, the mean grey, a grey picture, a smoothed one; 1: the picture itself; more:
// beyond it. Not negative.
void adjust_brightness(const RgbImage& image, double factor);
void adjust_contrast(const RgbImage& image, double factor);
void adjust_saturation(const RgbImage& image, double factor);
void adjust_sharpness(const RgbImage& image, double factor, uint8_t* scratch);

// factor: -0.5 .. 0.5 turns. 0 is not the identity: hue and saturation are rounded to 8 bits.
void adjust_hue(const RgbImage& image, double factor);

void posterize(const RgbImage& image, int bits);         // keeps 1 .. 8 bits of each value
void solarize(const RgbImage& image, double threshold);  // inverts values from `threshold` on
void autocontrast(const RgbImage& image);
void equalize(const RgbImage& image);
void invert(const RgbImage& image);
void grayscale(const RgbImage& image);  // to_grayscale(3)

// One colour, `count` times.
void fill_pixels(uint8_t* out, size_t count, RgbColor color);

// By whole pixels, right and down.
void translate(const RgbImage& image, int dx, int dy, RgbColor fill, uint8_t* scratch);
// F.affine with shear in degrees around the top left corner, nearest pixel.
void shear(const RgbImage& image, double degrees_x, double degrees_y, RgbColor fill,
           uint8_t* scratch);
// Counter-clockwise around the centre, nearest pixel.
void rotate(const RgbImage& image, double degrees, RgbColor fill, uint8_t* scratch);

}  // namespace ffkit
