#include "transform/image_pipeline.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include <ffkit/image/image_codec.h>

#include "codec/pixel_buffer.h"
#include "pixels/pixel_ops.h"
#include "pixels/pixel_writer.h"
#include "random_numbers/random_streams.h"
#include "resize/axis_filter.h"
#include "resize/opencv_resize.h"
#include "transform/augmenter.h"
#include "transform/crop.h"
#include "transform/erasing.h"
#include "transform/resize.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr ImageOutput kPixels{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

int64_t nanoseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

void copy_row(const uint8_t* from, int width, bool flip, uint8_t* to) {
  if (!flip) {
    std::memcpy(to, from, size_t{3} * static_cast<size_t>(width));
    return;
  }
  for (int x = 0; x < width; ++x) std::memcpy(to + 3 * (width - 1 - x), from + 3 * x, 3);
}

// The pixels of a region that were wished for.
RgbView part_of(const ImageDecoder::Region& region) {
  const RgbView& all = region.pixels;
  return {all.data + region.source.y * all.stride + ptrdiff_t{3} * region.source.x,
          region.source.width, region.source.height, all.stride};
}

}  // namespace

// The transform writes to one of two places: finished pixels straight to the output, when nothing comes between and they are
// resized; or RGB pixels to `pixels`, which finish() augments and writes.
struct ImagePipeline::Impl {
  explicit Impl(const ImageOptions& image_options)
      : options(image_options),
        size(image_size(image_options.transform)),
        width(static_cast<int>(size.width)),
        height(static_cast<int>(size.height)),
        is_fused(image_options.augmentations.empty()),
        resizer(size, is_fused ? image_options.output : kPixels),
        writer(size, image_options.output),
        augmenter(image_options.augmentations, size) {}

  void run(const RandomResizedCrop& crop, std::span<const std::byte> encoded, const SampleKey& key,
           void* out);
  void run(const ResizeCenterCrop& crop, std::span<const std::byte> encoded, const SampleKey& key,
           void* out);
  void run(const Resize& resize, std::span<const std::byte> encoded, const SampleKey& key,
           void* out);
  void run(const RandomCrop& crop, std::span<const std::byte> encoded, const SampleKey& key,
           void* out);
  void run(const ResizeCrop& crop, std::span<const std::byte> encoded, const SampleKey& key,
           void* out);

  // What of `region` becomes which part of the output, with the filters built; their begin() is at `offset` of the region's source.
  struct Placement {
    int offset_x = 0;
    int offset_y = 0;
    bool flip = false;
    int x = 0;
    int y = 0;
    bool vertical_first = false;
  };
  void resize(const ImageDecoder::Region& region, const Placement& place, const SampleKey& key,
              void* out);
  // Pixels `from` of `image` go to (x, y) of the output as they are; the rest is `fill`.
  void copy(const RgbView& image, const Rect& from, bool flip, int x, int y, RgbColor fill,
            const SampleKey& key, void* out);
  // All of `image` as cv::resize makes it.
  RgbView resize_whole(const RgbView& image, int to_width, int to_height);
  // From `pixels` to the output.
  void finish(const SampleKey& key, void* out);
  uint8_t* reserve_pixels();

  ImageOptions options;
  ImageSize size;
  int width;
  int height;
  bool is_fused;
  ImageDecoder decoder;
  AxisFilter filter_x;
  AxisFilter filter_y;
  Resizer resizer;
  PixelWriter writer;
  Augmenter augmenter;
  std::vector<uint8_t> pixels;  // [height, width, 3] and slack
  PixelBuffer resized;          // by OpenCV
  Clock::time_point decoded;    // when the last run() had its pixels
};

uint8_t* ImagePipeline::Impl::reserve_pixels() {
  pixels.resize(static_cast<size_t>(3 * size.width * size.height) + kScratchSlack);
  return pixels.data();
}

RgbView ImagePipeline::Impl::resize_whole(const RgbView& image, int to_width, int to_height) {
  const ptrdiff_t stride = ptrdiff_t{3} * to_width;
  uint8_t* out = resized.reserve(static_cast<size_t>(stride) * static_cast<size_t>(to_height));
  resize_by_opencv(image, to_width, to_height, out);
  return {out, to_width, to_height, stride};
}

void ImagePipeline::Impl::finish(const SampleKey& key, void* out) {
  augmenter.run({pixels.data(), width, height}, key);
  writer.run(pixels.data(), ptrdiff_t{3} * width, out);
}

void ImagePipeline::Impl::resize(const ImageDecoder::Region& region, const Placement& place,
                                 const SampleKey& key, void* out) {
  const RgbView& image = region.pixels;
  const uint8_t* from = image.data + (region.source.y + place.offset_y) * image.stride +
                        ptrdiff_t{3} * (region.source.x + place.offset_x);
  void* to = is_fused ? out : reserve_pixels();
  if (filter_x.num_outputs() < width || filter_y.num_outputs() < height) resizer.fill_black(to);
  resizer.run(from, image.stride, filter_x, filter_y, place.flip, place.x, place.y, to,
              place.vertical_first);
  if (!is_fused) finish(key, out);
}

void ImagePipeline::Impl::copy(const RgbView& image, const Rect& from, bool flip, int x, int y,
                               RgbColor fill, const SampleKey& key, void* out) {
  const uint8_t* first = image.data + from.y * image.stride + ptrdiff_t{3} * from.x;
  const bool is_whole = from.width == width && from.height == height;
  if (is_fused && is_whole && !flip) return writer.run(first, image.stride, out);
  uint8_t* to = reserve_pixels();
  if (!is_whole) {
    for (int i = 0; i < width * height; ++i) std::memcpy(to + 3 * i, fill.data(), 3);
  }
  const int left = flip ? width - x - from.width : x;
  to += ptrdiff_t{3} * (y * width + left);
  for (int row = 0; row < from.height; ++row) {
    copy_row(first + row * image.stride, from.width, flip, to + ptrdiff_t{3} * width * row);
  }
  finish(key, out);
}

void ImagePipeline::Impl::run(const RandomResizedCrop& crop, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  CounterRandom random(key, kCropStream);
  const DrawnCrop drawn = draw_crop(crop, info.width, info.height, random);
  const bool is_opencv = crop.interpolation == Interpolation::opencv_bilinear;
  const bool may_scale = crop.scaled_decode && !is_opencv;
  const ImageDecoder::Region region =
      decoder.decode_region(encoded, drawn.rect, may_scale ? width : 0, may_scale ? height : 0);
  decoded = Clock::now();
  if (is_opencv) {
    return copy(resize_whole(part_of(region), width, height), {0, 0, width, height}, drawn.flip, 0,
                0, {}, key, out);
  }
  if (region.source.width == width && region.source.height == height && region.width == width &&
      region.height == height && region.x == region.source.x && region.y == region.source.y) {
    return copy(region.pixels, region.source, drawn.flip, 0, 0, {}, key, out);
  }
  // The crop comes before the resize, so its border is the border of the image.
  const double x = region.x - region.source.x;
  const double y = region.y - region.source.y;
  filter_x.build(region.source.width, x, x + region.width, width, 0, width, crop.interpolation);
  filter_y.build(region.source.height, y, y + region.height, height, 0, height, crop.interpolation);
  resize(region,
         {.offset_x = filter_x.begin(),
          .offset_y = filter_y.begin(),
          .flip = drawn.flip,
          .vertical_first = is_vertical_first(region.width, region.height, width, height)},
         key, out);
}

void ImagePipeline::Impl::run(const ResizeCenterCrop& crop, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  const CenterCropGeometry geometry = center_crop_geometry(crop, info.width, info.height);
  const Rect& taken = geometry.taken;
  if (geometry.resized_width == info.width && geometry.resized_height == info.height) {
    const ImageDecoder::Region region = decoder.decode_region(encoded, taken, 0, 0);
    decoded = Clock::now();
    return copy(region.pixels, region.source, false, geometry.pad_x, geometry.pad_y, {}, key, out);
  }
  if (crop.interpolation == Interpolation::opencv_bilinear) {
    const ImageDecoder::Region region =
        decoder.decode_region(encoded, {0, 0, info.width, info.height}, 0, 0);
    decoded = Clock::now();
    return copy(resize_whole(part_of(region), geometry.resized_width, geometry.resized_height),
                taken, false, geometry.pad_x, geometry.pad_y, {}, key, out);
  }
  filter_x.build(info.width, 0, info.width, geometry.resized_width, taken.x, taken.width,
                 crop.interpolation);
  filter_y.build(info.height, 0, info.height, geometry.resized_height, taken.y, taken.height,
                 crop.interpolation);
  const Rect needed{filter_x.begin(), filter_y.begin(), filter_x.end() - filter_x.begin(),
                    filter_y.end() - filter_y.begin()};
  const ImageDecoder::Region region = decoder.decode_region(encoded, needed, 0, 0);
  decoded = Clock::now();
  resize(region,
         {.x = geometry.pad_x,
          .y = geometry.pad_y,
          .vertical_first = is_vertical_first(info.width, info.height, geometry.resized_width,
                                              geometry.resized_height)},
         key, out);
}

void ImagePipeline::Impl::run(const Resize& whole, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  const ImageDecoder::Region region =
      decoder.decode_region(encoded, {0, 0, info.width, info.height}, 0, 0);
  decoded = Clock::now();
  if (info.width == width && info.height == height) {
    return copy(region.pixels, region.source, false, 0, 0, {}, key, out);
  }
  if (whole.interpolation == Interpolation::opencv_bilinear) {
    return copy(resize_whole(part_of(region), width, height), {0, 0, width, height}, false, 0, 0,
                {}, key, out);
  }
  filter_x.build(info.width, 0, info.width, width, 0, width, whole.interpolation);
  filter_y.build(info.height, 0, info.height, height, 0, height, whole.interpolation);
  resize(region,
         {.offset_x = filter_x.begin(),
          .offset_y = filter_y.begin(),
          .vertical_first = is_vertical_first(info.width, info.height, width, height)},
         key, out);
}

void ImagePipeline::Impl::run(const RandomCrop& crop, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  CounterRandom random(key, kCropStream);
  const DrawnCrop drawn = draw_crop(crop, info.width, info.height, random);
  const int left = std::max(drawn.rect.x, 0);
  const int top = std::max(drawn.rect.y, 0);
  const int right = std::min(drawn.rect.x + width, info.width);
  const int bottom = std::min(drawn.rect.y + height, info.height);
  if (left >= right || top >= bottom) {
    // Nothing but padding. What is no image is refused as ever.
    decoder.decode_region(encoded, {0, 0, 1, 1}, 0, 0);
    decoded = Clock::now();
    return copy({}, {}, false, 0, 0, crop.fill, key, out);
  }
  const Rect inside{left, top, right - left, bottom - top};
  const ImageDecoder::Region region = decoder.decode_region(encoded, inside, 0, 0);
  decoded = Clock::now();
  copy(region.pixels, region.source, drawn.flip, left - drawn.rect.x, top - drawn.rect.y, crop.fill,
       key, out);
}

void ImagePipeline::Impl::run(const ResizeCrop& crop, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  CounterRandom random(key, kCropStream);
  const DrawnResizeCrop drawn = draw_crop(crop, info.width, info.height, random);
  const int left = std::max(drawn.x, 0);
  const int top = std::max(drawn.y, 0);
  const int num_x = std::min(drawn.x + width, drawn.resized_width) - left;
  const int num_y = std::min(drawn.y + height, drawn.resized_height) - top;
  if (num_x <= 0 || num_y <= 0) {
    decoder.decode_region(encoded, {0, 0, 1, 1}, 0, 0);
    decoded = Clock::now();
    return copy({}, {}, false, 0, 0, {}, key, out);
  }
  if (crop.interpolation == Interpolation::opencv_bilinear) {
    const ImageDecoder::Region region =
        decoder.decode_region(encoded, {0, 0, info.width, info.height}, 0, 0);
    decoded = Clock::now();
    return copy(resize_whole(part_of(region), drawn.resized_width, drawn.resized_height),
                {left, top, num_x, num_y}, drawn.flip, left - drawn.x, top - drawn.y, {}, key, out);
  }
  filter_x.build(info.width, 0, info.width, drawn.resized_width, left, num_x, crop.interpolation);
  filter_y.build(info.height, 0, info.height, drawn.resized_height, top, num_y, crop.interpolation);
  const Rect needed{filter_x.begin(), filter_y.begin(), filter_x.end() - filter_x.begin(),
                    filter_y.end() - filter_y.begin()};
  const double factor_x = static_cast<double>(drawn.resized_width) / info.width;
  const double factor_y = static_cast<double>(drawn.resized_height) / info.height;
  const int min_width = static_cast<int>(std::ceil(needed.width * factor_x));
  const int min_height = static_cast<int>(std::ceil(needed.height * factor_y));
  const ImageDecoder::Region region = decoder.decode_region(
      encoded, needed, crop.scaled_decode ? min_width : 0, crop.scaled_decode ? min_height : 0);
  decoded = Clock::now();
  Placement place{.flip = drawn.flip,
                  .x = drawn.flip ? width - (left - drawn.x) - num_x : left - drawn.x,
                  .y = top - drawn.y,
                  .vertical_first = is_vertical_first(info.width, info.height, drawn.resized_width,
                                                      drawn.resized_height)};
  if (region.width != needed.width || region.height != needed.height) {
    // Decoded at a fraction of the size: the same stretches of the image, in the pixels that there are.
    const double scale_x = region.width / needed.width;
    const double scale_y = region.height / needed.height;
    const double x = region.x - region.source.x + (left / factor_x - needed.x) * scale_x;
    const double y = region.y - region.source.y + (top / factor_y - needed.y) * scale_y;
    filter_x.build(region.source.width, x, x + num_x / factor_x * scale_x, num_x, 0, num_x,
                   crop.interpolation);
    filter_y.build(region.source.height, y, y + num_y / factor_y * scale_y, num_y, 0, num_y,
                   crop.interpolation);
    place.offset_x = filter_x.begin();
    place.offset_y = filter_y.begin();
  }
  resize(region, place, key, out);
}

ImagePipeline::ImagePipeline(const ImageOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
ImagePipeline::~ImagePipeline() = default;
ImagePipeline::ImagePipeline(ImagePipeline&&) noexcept = default;
ImagePipeline& ImagePipeline::operator=(ImagePipeline&&) noexcept = default;

void ImagePipeline::run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
                        PipelineTimes& times) {
  const auto begin = Clock::now();
  Impl& impl = *impl_;
  std::visit([&](const auto& transform) { impl.run(transform, encoded, key, out); },
             impl.options.transform);
  if (impl.options.erasing) {
    CounterRandom random(key, kErasingStream);
    erase(*impl.options.erasing, impl.options.output, impl.size, random, out);
  }
  times.decode_ns += nanoseconds(begin, impl.decoded);
  times.transform_ns += nanoseconds(impl.decoded, Clock::now());
}

}  // namespace ffkit
