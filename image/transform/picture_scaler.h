// PictureScaler: from the decoded pixels of a picture to those of the output, as a CropPlan says:
// resized as Pillow or as OpenCV does it, or copied as they are.
//
// Keeps its memory between pictures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ffkit/image/augmentation.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_output.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/image/random.h>
#include <ffkit/image/transform.h>

#include "pixels/pixel_kernels.h"
#include "resize/resample_passes.h"

namespace ffkit {

// CropPlan: which part of its picture a sample has, and where in the output it goes. What all
// transforms decide, without pixels.

// Which part of a picture a transform takes: the geometry of torchvision's transforms.

struct DrawnCrop {
  Rect rect;  // within the picture; of RandomCrop it may reach beyond it
  bool flip = false;
};

// Draws the crop of a picture of width x height pixels as torchvision's
// RandomResizedCrop.get_params does, then the flip.
DrawnCrop draw_crop(const RandomResizedCrop& options, int width, int height, CounterRandom& random);

// The rectangle is of options.size, in the picture's coordinates: what lies outside of the picture
// is padding. Throws Error(unsupported) for a picture that is too small.
DrawnCrop draw_crop(const RandomCrop& options, int width, int height, CounterRandom& random);

// What ResizeCrop takes of a picture of width x height pixels. Drawn: the factor, the place across,
// the share below, the flip.
struct DrawnResizeCrop {
  int resized_width = 0;  // of the whole picture after the resize, at least 1
  int resized_height = 0;
  int x = 0;  // the crop's corner in the resized picture; it may reach beyond it
  int y = 0;
  bool flip = false;
};
DrawnResizeCrop draw_crop(const ResizeCrop& options, int width, int height, CounterRandom& random);

// Resize(short side) followed by CenterCrop on a picture of a given size. Throws Error(unsupported)
// where the long side would be more than 2^31 - 1 pixels.
struct CenterCropGeometry {
  int resized_width = 0;  // of the whole picture after the resize
  int resized_height = 0;
  Rect taken;     // the part of the resized picture that is kept ...
  int pad_x = 0;  // ... and where its top left corner goes in the output; zeros around it
  int pad_y = 0;
};
CenterCropGeometry center_crop_geometry(const ResizeCenterCrop& options, int width, int height);

//    picture                 box, resized               output
//    +-----------------+     +--------------+           +-----------+
//    |  +-----------+  |     |     +------+ |           | fill      |
//    |  |    box    |  | ->  |     | taken| |    ->     |  +------+ |
//    |  |           |  |     |     +------+ |           |  | taken| |
//    |  +-----------+  |     +--------------+           +--+------+-+
//    +-----------------+                             mirrored when flip
struct CropPlan {
  Rect box;                // its border is the border of the resize
  int resized_width = 0;   // of the box after the resize
  int resized_height = 0;  // the same as the box: nothing is resized
  Rect taken;              // of the resized box; of width 0: nothing, all is `fill`
  int x = 0;               // of taken's top left corner in the output
  int y = 0;
  bool flip = false;          // mirrors what is taken, in its place
  RgbColor fill = {0, 0, 0};  // around it
  Interpolation interpolation = Interpolation::bilinear;
  bool may_scale_decode = false;  // a JPEG may be decoded at a fraction of its size
  // as Pillow sees it: the box is a picture of its own, of the size in which it is decoded
  bool is_cropped_first = false;
  ImageMap map;  // where pixels of the picture go, also where nothing of it is taken

  bool resizes() const { return resized_width != box.width || resized_height != box.height; }
};

// Of a picture of width x height pixels in the sample with this key. Throws Error(unsupported) as
// center_crop_geometry() and draw_crop() do, and where a ScalePad's size is too small.
CropPlan plan_crop(const RandomResizedCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ResizeCenterCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const Resize& resize, int width, int height, const SampleKey& key);
CropPlan plan_crop(const RandomCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ResizeCrop& crop, int width, int height, const SampleKey& key);
CropPlan plan_crop(const ScalePad& pad, int width, int height, const SampleKey& key);

// What Resize makes of it.
ImageSize resized_size(const Resize& resize, int width, int height);
// The whole picture, resized.
CropPlan plan_resize(int width, int height, ImageSize size, Interpolation interpolation);
// The window of `size` whose corner is at (x, y) of the picture, and may lie outside of it.
CropPlan plan_window(int width, int height, int x, int y, ImageSize size, RgbColor fill);

// What is to be decoded, as ImageDecoder::read_region() takes it.
struct WantedPixels {
  Rect rect;
  int min_width = 0;
  int min_height = 0;
};

class PictureScaler {
 public:
  PictureScaler() = default;
  PictureScaler(const PictureScaler&) = delete;
  PictureScaler& operator=(const PictureScaler&) = delete;
  virtual ~PictureScaler() = default;

  // Of the output from now on.
  virtual void set_size(ImageSize size) = 0;

  virtual WantedPixels wanted(const CropPlan& plan) = 0;

  // Writes all of the output. `region` is what was decoded of wanted(plan), which was called last.
  virtual void run(const ImageDecoder::Region& region, const CropPlan& plan, void* out) = 0;
};

// Outputs are pictures of `size`; `output` must have passed validate(). Plans must resize ...
std::unique_ptr<PictureScaler> make_scaler(Interpolation interpolation, ImageSize size,
                                           const ImageOutput& output);
// ... or must not.
std::unique_ptr<PictureScaler> make_copier(ImageSize size, const ImageOutput& output);

// Resizer: pixels through two AxisFilters straight into their place in the batch: resized, flipped,
// normalised, laid out. u8 results equal those of Pillow's Image.resize(size, BILINEAR or BICUBIC,
// box) to the bit.
class Resizer {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate().
  Resizer(ImageSize size, const ImageOutput& output);

  void set_size(ImageSize size);

  // Sets all of the output to a colour, normalised as pixels are.
  void fill(RgbColor color, void* out);

  // `pixels` is the RGB pixel at (filter_x.begin(), filter_y.begin()), rows `stride` bytes apart;
  // 16 bytes behind the last one needed may be read. The result has filter_x.num_outputs() x
  // filter_y.num_outputs() pixels and goes to (x, y) of the output, mirrored when `flip`; it must
  // lie within it. Between the passes values are rounded to 8 bits: their order matters.
  void run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
           const AxisFilter& filter_y, bool flip, int x, int y, void* out,
           bool vertical_first = false);

 private:
  // `width` pixels of each of `rows` to the output.
  void run_vertical(const ResamplePasses::Rows& rows, const AxisFilter& filter_y, int width, int x,
                    int y, void* out);

  ImageSize size_;
  ImageOutput output_;
  size_t element_bytes_;
  RowScale scale_;
  ResamplePasses passes_;
  std::vector<uint8_t> low_;  // results of a vertical pass that comes first; or of one colour
  AxisFilter same_;           // changes nothing
};

// Pictures of 16 bits: what PictureScaler is for bytes. Both classes keep their memory between
// pictures. Not thread-safe.

// Pillow's antialiased resize of pixels of 16 bits, as that of its mode I;16: sums of doubles,
// rounded to 16 bits after each pass. What it makes too small or too large is 0 or 65535.
class WideResizer {
 public:
  // Of a picture of width x height pixels that becomes resized_width x resized_height, `taken` is
  // wanted. Returns the part of the picture that it is made from.
  Rect plan(int width, int height, int resized_width, int resized_height, const Rect& taken,
            Interpolation interpolation);
  // Writes [taken.height, taken.width, 3] without gaps. `pixels` is what plan() returned last.
  void run(const WideRgbView& pixels, uint16_t* out);

 private:
  struct Axis {
    struct Taps {
      int first;  // counted from `begin`
      size_t offset;
      int count;
    };
    void build(const AxisStretch& stretch, Interpolation interpolation);

    int begin = 0;
    int end = 0;
    std::vector<Taps> taps;
    std::vector<double> weights;
    std::vector<double> scratch;
  };

  static void horizontal(const WideRgbView& pixels, const Axis& axis, uint16_t* out);
  static void vertical(const WideRgbView& pixels, const Axis& axis, uint16_t* out);

  Axis x_;
  Axis y_;
  bool is_vertical_first_ = false;
  std::vector<uint16_t> between_;
};

// From the decoded pixels of a picture to those that a CropPlan makes of them.
class WideScaler {
 public:
  // A fill is a colour of bytes: white is 65535, but the number itself in maps of labels.
  explicit WideScaler(bool has_numbers) : fill_factor_(has_numbers ? 1 : 257) {}

  // What is to be decoded, as ImageDecoder::read_wide_region() takes it.
  Rect wanted(const CropPlan& plan);
  // Replaces `out` by [size.height, size.width, 3]. `pixels` are those of wanted(plan), which was
  // called last.
  void run(const WideRgbView& pixels, const CropPlan& plan, ImageSize size,
           std::vector<uint16_t>& out);
  std::array<uint16_t, 3> filled_with(RgbColor fill) const;

 private:
  // What the plan takes: [taken.height, taken.width, 3].
  WideRgbView taken_pixels(const WideRgbView& pixels, const CropPlan& plan);

  uint16_t fill_factor_;
  WideResizer resizer_;
  std::vector<uint16_t> resized_;
};

// FloatScaler: what ScalePad does to the pixels of a picture: to floats, perhaps distorted, resized
// by OpenCV's bilinear filter, normalised, zeros around them.
//
// Works on one row after another, which stay in the processor's caches: a whole picture of floats
// would not. Keeps its memory between pictures. Not thread-safe.

// What PhotoMetricDistortion does to one picture: the draws of mmdetection's PhotoMetricDistortion,
// without pixels.
RowDistortion draw_distortion(const PhotoMetricDistortion& options, CounterRandom& random);

class FloatScaler {
 public:
  // Outputs are pictures of `size`; `output` must have passed validate() with a ScalePad.
  FloatScaler(ImageSize size, const ImageOutput& output);

  // Writes all of the output: `pixels` resized to width x height at its top left corner, which must
  // fit, and zeros. They are distorted before, unless `distortion` is null.
  void run(const RgbView& pixels, int width, int height, const RowDistortion* distortion,
           void* out);

 private:
  // Row y of `pixels` as floats, distorted, and of the result; a row for each channel.
  const float* floats_of(const RgbView& pixels, int y);
  const float* scaled_row(const RgbView& pixels, int y);
  // Zeros beside and below the width x height pixels of the result.
  void clear_around(int width, int height, std::byte* out) const;
  // A row of the result to row y of the output.
  void write(const float* rows, int width, int y, std::byte* out);

  ImageSize size_;
  ImageOutput output_;
  size_t element_bytes_;
  RowScale scale_;
  LinearAxis axis_x_;
  LinearAxis axis_y_;
  const RowDistortion* distortion_ = nullptr;
  // Rows of `pixels` as floats, even and odd ones, and which ones they are.
  std::array<std::vector<float>, 2> floats_;
  std::array<int, 2> floats_y_ = {};
  std::vector<float> blended_;      // of two rows
  std::vector<float> scaled_;       // a row of the result
  std::vector<float> interleaved_;  // the same, [width][3]
};

}  // namespace ffkit
