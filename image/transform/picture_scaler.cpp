#include "transform/picture_scaler.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codec/pixel_buffer.h"
#include "pixels/pixel_kernels.h"
#include "pixels/pixel_ops.h"
#include "resize/resample_passes.h"

namespace ffkit {

Resizer::Resizer(ImageSize size, const ImageOutput& output)
    : size_(size),
      output_(output),
      element_bytes_(size_of(output.dtype)),
      scale_(size.width, output) {}

void Resizer::set_size(ImageSize size) {
  if (size == size_) return;
  size_ = size;
  scale_ = RowScale(size.width, output_);
}

void Resizer::fill(RgbColor color, void* out) {
  const auto width = static_cast<int>(size_.width);
  const auto height = static_cast<int>(size_.height);
  same_.build(height, 0, height, height, 0, height);
  const size_t stride = row_bytes(width);
  low_.assign(stride * static_cast<size_t>(height) + kMaxLanes, 0);
  if (color != RgbColor{0, 0, 0}) {
    const auto num_pixels = static_cast<size_t>(width);
    for (int y = 0; y < height; ++y) {
      uint8_t* row = &low_[static_cast<size_t>(y) * stride];
      if (output_.layout == Layout::nhwc) {
        fill_pixels(row, num_pixels, color);
      } else {
        for (size_t c = 0; c < 3; ++c) std::fill_n(row + c * num_pixels, num_pixels, color[c]);
      }
    }
  }
  run_vertical({low_.data(), static_cast<ptrdiff_t>(stride)}, same_, width, 0, 0, out);
}

void Resizer::run(const uint8_t* pixels, ptrdiff_t stride, const AxisFilter& filter_x,
                  const AxisFilter& filter_y, bool flip, int x, int y, void* out,
                  bool vertical_first) {
  const bool is_planar = output_.layout == Layout::nchw;
  const int num_inputs = filter_x.end() - filter_x.begin();
  const int width = filter_x.num_outputs();
  const int height = filter_y.num_outputs();
  if (!vertical_first) {
    const auto rows = passes_.horizontal(pixels, stride, filter_y.end() - filter_y.begin(),
                                         filter_x, flip, is_planar);
    return run_vertical(rows, filter_y, width, x, y, out);
  }
  VerticalJob job;
  job.rows = pixels;
  job.stride = stride;
  job.num_columns = size_t{3} * static_cast<size_t>(num_inputs);
  job.filter = &filter_y;
  job.out_stride_bytes = static_cast<ptrdiff_t>(row_bytes(num_inputs));
  const size_t low_bytes = row_bytes(num_inputs) * static_cast<size_t>(height) + kMaxLanes;
  if (low_.size() < low_bytes) low_.resize(low_bytes);
  job.out = low_.data();
  passes_.vertical(job);
  const auto rows =
      passes_.horizontal(low_.data(), job.out_stride_bytes, height, filter_x, flip, is_planar);
  same_.build(height, 0, height, height, 0, height);
  run_vertical(rows, same_, width, x, y, out);
}

void Resizer::run_vertical(const ResamplePasses::Rows& rows, const AxisFilter& filter_y, int width,
                           int x, int y, void* out) {
  const bool is_planar = output_.layout == Layout::nchw;
  const size_t pixel_values = is_planar ? 1 : 3;  // next to each other in the output
  const auto out_width = static_cast<size_t>(size_.width);
  const size_t plane_values = out_width * static_cast<size_t>(size_.height);
  const size_t place = (static_cast<size_t>(y) * out_width + static_cast<size_t>(x)) * pixel_values;

  VerticalJob job;
  job.stride = rows.stride;
  job.num_columns = static_cast<size_t>(width) * pixel_values;
  job.filter = &filter_y;
  job.dtype = output_.dtype;
  job.out_stride_bytes = static_cast<ptrdiff_t>(out_width * pixel_values * element_bytes_);
  for (size_t plane = 0; plane < 3 / pixel_values; ++plane) {
    job.rows = rows.data + plane * job.num_columns;
    job.scale = &scale_.scale[plane * out_width];
    job.bias = &scale_.bias[plane * out_width];
    job.out = static_cast<uint8_t*>(out) + (plane * plane_values + place) * element_bytes_;
    passes_.vertical(job);
  }
}

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

namespace {

// Pillow's ROUND_UP(), then into range.
uint16_t to_u16(double sum) {
  return static_cast<uint16_t>(
      std::clamp(static_cast<int>(sum >= 0 ? sum + 0.5 : sum - 0.5), 0, 65535));
}

}  // namespace

void WideResizer::Axis::build(const AxisStretch& stretch, Interpolation interpolation) {
  begin = stretch.in_size;
  end = 0;
  taps.clear();
  weights.clear();
  const auto add = [this](int, int first, std::span<const double> of_output) {
    const auto count = static_cast<int>(of_output.size());
    taps.push_back({first, weights.size(), count});
    weights.insert(weights.end(), of_output.begin(), of_output.end());
    begin = std::min(begin, first);
    end = std::max(end, first + count);
  };
  if (interpolation == Interpolation::bicubic) {
    for_each_output(CubicFilter(), stretch, scratch, add);
  } else {
    for_each_output(TriangleFilter(), stretch, scratch, add);
  }
  for (Taps& one : taps) one.first -= begin;
}

Rect WideResizer::plan(int width, int height, int resized_width, int resized_height,
                       const Rect& taken, Interpolation interpolation) {
  x_.build({width, 0, static_cast<double>(width), resized_width, taken.x, taken.width},
           interpolation);
  y_.build({height, 0, static_cast<double>(height), resized_height, taken.y, taken.height},
           interpolation);
  is_vertical_first_ = is_vertical_first(width, height, resized_width, resized_height);
  return {x_.begin, y_.begin, x_.end - x_.begin, y_.end - y_.begin};
}

void WideResizer::run(const WideRgbView& pixels, uint16_t* out) {
  const auto width = static_cast<int>(x_.taps.size());
  const auto height = static_cast<int>(y_.taps.size());
  const int between_width = is_vertical_first_ ? pixels.width : width;
  const int between_height = is_vertical_first_ ? height : pixels.height;
  between_.resize(size_t{3} * static_cast<size_t>(between_width) *
                  static_cast<size_t>(between_height));
  const WideRgbView between{between_.data(), between_width, between_height,
                            ptrdiff_t{3} * between_width};
  if (is_vertical_first_) {
    vertical(pixels, y_, between_.data());
    horizontal(between, x_, out);
  } else {
    horizontal(pixels, x_, between_.data());
    vertical(between, y_, out);
  }
}

void WideResizer::horizontal(const WideRgbView& pixels, const Axis& axis, uint16_t* out) {
  for (int y = 0; y < pixels.height; ++y) {
    for (const Axis::Taps& taps : axis.taps) {
      const uint16_t* const in = pixels.data + y * pixels.stride + ptrdiff_t{3} * taps.first;
      for (int c = 0; c < 3; ++c) {
        double sum = 0;
        for (int k = 0; k < taps.count; ++k) {
          sum += in[3 * k + c] * axis.weights[taps.offset + static_cast<size_t>(k)];
        }
        *out++ = to_u16(sum);
      }
    }
  }
}

void WideResizer::vertical(const WideRgbView& pixels, const Axis& axis, uint16_t* out) {
  for (const Axis::Taps& taps : axis.taps) {
    for (int i = 0; i < 3 * pixels.width; ++i) {
      const uint16_t* const in = pixels.data + taps.first * pixels.stride + i;
      double sum = 0;
      for (int k = 0; k < taps.count; ++k) {
        sum += in[k * pixels.stride] * axis.weights[taps.offset + static_cast<size_t>(k)];
      }
      *out++ = to_u16(sum);
    }
  }
}

std::array<uint16_t, 3> WideScaler::filled_with(RgbColor fill) const {
  const auto wide = [this](uint8_t value) { return static_cast<uint16_t>(value * fill_factor_); };
  return {wide(fill[0]), wide(fill[1]), wide(fill[2])};
}

Rect WideScaler::wanted(const CropPlan& plan) {
  if (plan.taken.width == 0) return plan.box;
  Rect part = plan.taken;
  if (plan.resizes()) {
    if (plan.interpolation == Interpolation::opencv_bilinear) return plan.box;
    part = resizer_.plan(plan.box.width, plan.box.height, plan.resized_width, plan.resized_height,
                         plan.taken, plan.interpolation);
  }
  return {plan.box.x + part.x, plan.box.y + part.y, part.width, part.height};
}

WideRgbView WideScaler::taken_pixels(const WideRgbView& pixels, const CropPlan& plan) {
  if (!plan.resizes()) return pixels;
  const Rect& taken = plan.taken;
  if (plan.interpolation == Interpolation::opencv_bilinear) {
    const ptrdiff_t stride = ptrdiff_t{3} * plan.resized_width;
    resized_.resize(static_cast<size_t>(stride) * static_cast<size_t>(plan.resized_height));
    resize_by_opencv(pixels, plan.resized_width, plan.resized_height, resized_.data());
    return {resized_.data() + taken.y * stride + ptrdiff_t{3} * taken.x, taken.width, taken.height,
            stride};
  }
  const ptrdiff_t stride = ptrdiff_t{3} * taken.width;
  resized_.resize(static_cast<size_t>(stride) * static_cast<size_t>(taken.height));
  resizer_.run(pixels, resized_.data());
  return {resized_.data(), taken.width, taken.height, stride};
}

void WideScaler::run(const WideRgbView& pixels, const CropPlan& plan, ImageSize size,
                     std::vector<uint16_t>& out) {
  out.resize(3 * static_cast<size_t>(size.width * size.height));
  const std::array<uint16_t, 3> fill = filled_with(plan.fill);
  for (size_t i = 0; i < out.size(); ++i) out[i] = fill[i % 3];
  if (plan.taken.width == 0) return;
  const WideRgbView taken = taken_pixels(pixels, plan);
  for (int y = 0; y < taken.height; ++y) {
    const uint16_t* const from = taken.data + y * taken.stride;
    uint16_t* const to =
        out.data() + 3 * ((plan.y + y) * static_cast<ptrdiff_t>(size.width) + plan.x);
    for (int x = 0; x < taken.width; ++x) {
      std::copy_n(from + 3 * x, 3, to + 3 * (plan.flip ? taken.width - 1 - x : x));
    }
  }
}

}  // namespace ffkit
