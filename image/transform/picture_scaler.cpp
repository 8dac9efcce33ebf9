#include "transform/picture_scaler.h"

#include <cmath>
#include <cstring>

#include "codec/pixel_buffer.h"
#include "pixels/pixel_ops.h"
#include "pixels/pixel_writer.h"
#include "resize/axis_filter.h"
#include "resize/opencv_resize.h"
#include "transform/resize.h"

namespace ffkit {
namespace {

const uint8_t* pixel_at(const RgbView& image, int x, int y) {
  return image.data + y * image.stride + ptrdiff_t{3} * x;
}

void copy_row(const uint8_t* from, int width, bool flip, uint8_t* to) {
  if (!flip) {
    std::memcpy(to, from, size_t{3} * static_cast<size_t>(width));
    return;
  }
  for (int x = 0; x < width; ++x) std::memcpy(to + 3 * (width - 1 - x), from + 3 * x, 3);
}

// Pixels of the output's size into their place, with what is around them.
class PixelPlacer {
 public:
  PixelPlacer(ImageSize size, const ImageOutput& output)
      : is_plain_(output.dtype == DType::u8 && output.layout == Layout::nhwc),
        writer_(size, output) {
    set_size(size);
  }

  void set_size(ImageSize size) {
    width_ = static_cast<int>(size.width);
    height_ = static_cast<int>(size.height);
    writer_.set_size(size);
  }

  // `taken` of `image` is what the plan takes.
  void run(const RgbView& image, const Rect& taken, const CropPlan& plan, void* out) {
    const uint8_t* from = pixel_at(image, taken.x, taken.y);
    const bool is_all = taken.width == width_ && taken.height == height_;
    if (is_all && !plan.flip) return writer_.run(from, image.stride, out);
    const ptrdiff_t row = ptrdiff_t{3} * width_;
    uint8_t* all = is_plain_ ? static_cast<uint8_t*>(out) : pixels_.reserve(row * height_);
    if (!is_all)
      fill_pixels(all, static_cast<size_t>(width_) * static_cast<size_t>(height_), plan.fill);
    uint8_t* to = all + plan.y * row + ptrdiff_t{3} * plan.x;
    for (int y = 0; y < taken.height; ++y) {
      copy_row(from + y * image.stride, taken.width, plan.flip, to + y * row);
    }
    if (!is_plain_) writer_.run(all, row, out);
  }

 private:
  int width_ = 0;
  int height_ = 0;
  bool is_plain_;  // the output is the pixels
  PixelWriter writer_;
  PixelBuffer pixels_;
};

class Copier : public PictureScaler {
 public:
  Copier(ImageSize size, const ImageOutput& output) : placer_(size, output) {}

  void set_size(ImageSize size) override { placer_.set_size(size); }

  WantedPixels wanted(const CropPlan& plan) override {
    if (plan.taken.width == 0) return {plan.box};
    return {{plan.box.x + plan.taken.x, plan.box.y + plan.taken.y, plan.taken.width,
             plan.taken.height}};
  }

  void run(const ImageDecoder::Region& region, const CropPlan& plan, void* out) override {
    const Rect taken = plan.taken.width == 0 ? Rect{} : region.wanted;
    placer_.run(region.pixels, taken, plan, out);
  }

 private:
  PixelPlacer placer_;
};

// cv::resize of the whole box. Its filter is not widened, so a JPEG at a fraction of its size would
// be another picture.
class OpencvScaler : public PictureScaler {
 public:
  OpencvScaler(ImageSize size, const ImageOutput& output) : placer_(size, output) {}

  void set_size(ImageSize size) override { placer_.set_size(size); }

  WantedPixels wanted(const CropPlan& plan) override { return {plan.box}; }

  void run(const ImageDecoder::Region& region, const CropPlan& plan, void* out) override {
    const RgbView box{pixel_at(region.pixels, region.wanted.x, region.wanted.y),
                      region.wanted.width, region.wanted.height, region.pixels.stride};
    const ptrdiff_t row = ptrdiff_t{3} * plan.resized_width;
    uint8_t* resized =
        resized_.reserve(static_cast<size_t>(row) * static_cast<size_t>(plan.resized_height));
    resize_by_opencv(box, plan.resized_width, plan.resized_height, resized);
    placer_.run({resized, plan.resized_width, plan.resized_height, row}, plan.taken, plan, out);
  }

 private:
  PixelPlacer placer_;
  PixelBuffer resized_;
};

// Pillow's resize, of what is taken alone.
class PillowScaler : public PictureScaler {
 public:
  PillowScaler(Interpolation interpolation, ImageSize size, const ImageOutput& output)
      : interpolation_(interpolation), size_(size), resizer_(size, output) {}

  void set_size(ImageSize size) override {
    size_ = size;
    resizer_.set_size(size);
  }

  WantedPixels wanted(const CropPlan& plan) override {
    const Rect& taken = plan.taken;
    filter_x_.build(plan.box.width, 0, plan.box.width, plan.resized_width, taken.x, taken.width,
                    interpolation_);
    filter_y_.build(plan.box.height, 0, plan.box.height, plan.resized_height, taken.y, taken.height,
                    interpolation_);
    // Within the box.
    needed_ = {filter_x_.begin(), filter_y_.begin(), filter_x_.end() - filter_x_.begin(),
               filter_y_.end() - filter_y_.begin()};
    WantedPixels wanted{
        {plan.box.x + needed_.x, plan.box.y + needed_.y, needed_.width, needed_.height}};
    if (plan.may_scale_decode) {
      wanted.min_width = static_cast<int>(std::ceil(needed_.width * factor_x(plan)));
      wanted.min_height = static_cast<int>(std::ceil(needed_.height * factor_y(plan)));
    }
    return wanted;
  }

  void run(const ImageDecoder::Region& region, const CropPlan& plan, void* out) override {
    int x = region.wanted.x;
    int y = region.wanted.y;
    double width = plan.box.width;
    double height = plan.box.height;
    if (region.width != needed_.width || region.height != needed_.height) {
      const double scale_x = region.width / needed_.width;
      const double scale_y = region.height / needed_.height;
      build_scaled_filters(region, plan, scale_x, scale_y);
      x += filter_x_.begin();
      y += filter_y_.begin();
      if (plan.is_cropped_first) {
        width *= scale_x;
        height *= scale_y;
      }
    }
    if (plan.taken.width < size_.width || plan.taken.height < size_.height) {
      resizer_.fill(plan.fill, out);
    }
    resizer_.run(pixel_at(region.pixels, x, y), region.pixels.stride, filter_x_, filter_y_,
                 plan.flip, plan.x, plan.y, out,
                 is_vertical_first(width, height, plan.resized_width, plan.resized_height));
  }

 private:
  static double factor_x(const CropPlan& plan) {
    return static_cast<double>(plan.resized_width) / plan.box.width;
  }
  static double factor_y(const CropPlan& plan) {
    return static_cast<double>(plan.resized_height) / plan.box.height;
  }

  // Decoded at a fraction of the size: the same stretches of the box, in the pixels that there are.
  void build_scaled_filters(const ImageDecoder::Region& region, const CropPlan& plan,
                            double scale_x, double scale_y) {
    const Rect& taken = plan.taken;
    double x = region.x - region.wanted.x;
    double y = region.y - region.wanted.y;
    double width = region.width;
    double height = region.height;
    if (!plan.is_cropped_first) {
      x += (taken.x / factor_x(plan) - needed_.x) * scale_x;
      y += (taken.y / factor_y(plan) - needed_.y) * scale_y;
      width = taken.width / factor_x(plan) * scale_x;
      height = taken.height / factor_y(plan) * scale_y;
    }
    filter_x_.build(region.wanted.width, x, x + width, taken.width, 0, taken.width, interpolation_);
    filter_y_.build(region.wanted.height, y, y + height, taken.height, 0, taken.height,
                    interpolation_);
  }

  Interpolation interpolation_;
  ImageSize size_;
  Resizer resizer_;
  AxisFilter filter_x_;
  AxisFilter filter_y_;
  Rect needed_;  // of the box, by the filters of wanted()
};

}  // namespace

std::unique_ptr<PictureScaler> make_scaler(Interpolation interpolation, ImageSize size,
                                           const ImageOutput& output) {
  if (interpolation == Interpolation::opencv_bilinear) {
    return std::make_unique<OpencvScaler>(size, output);
  }
  return std::make_unique<PillowScaler>(interpolation, size, output);
}

std::unique_ptr<PictureScaler> make_copier(ImageSize size, const ImageOutput& output) {
  return std::make_unique<Copier>(size, output);
}

}  // namespace ffkit
