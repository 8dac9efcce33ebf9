#include "image_pipeline.h"

#include <chrono>

#include <ffkit/format/image_codec.h>

#include "axis_filter.h"
#include "crop.h"
#include "resize.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

int64_t nanoseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

}  // namespace

struct ImagePipeline::Impl {
  Impl(const ImageTransform& transform_options, const ImageOutput& output)
      : transform(transform_options),
        size(static_cast<int>(output_size(transform_options))),
        resizer(size, output) {}

  void run(const RandomResizedCrop& options, std::span<const std::byte> encoded,
           const SampleKey& key, void* out);
  void run(const ResizeCenterCrop& options, std::span<const std::byte> encoded,
           const SampleKey& key, void* out);
  // First pixel of `region` that the filters, built from its corner, use.
  void resize(const ImageDecoder::Region& region, int offset_x, int offset_y, bool flip, int x,
              int y, void* out);

  ImageTransform transform;
  int size;
  ImageDecoder decoder;
  AxisFilter filter_x;
  AxisFilter filter_y;
  Resizer resizer;
  Clock::time_point decoded;  // when the last run() had its pixels
};

void ImagePipeline::Impl::resize(const ImageDecoder::Region& region, int offset_x, int offset_y,
                                 bool flip, int x, int y, void* out) {
  const uint8_t* pixels = region.pixels.data + (region.source.y + offset_y) * region.pixels.stride +
                          ptrdiff_t{3} * (region.source.x + offset_x);
  resizer.run(pixels, region.pixels.stride, filter_x, filter_y, flip, x, y, out);
}

void ImagePipeline::Impl::run(const RandomResizedCrop& options, std::span<const std::byte> encoded,
                              const SampleKey& key, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  CounterRandom random(key);
  const RandomCrop crop = draw_crop(options, info.width, info.height, random);
  const int min_size = options.scaled_decode ? size : 0;
  const ImageDecoder::Region region = decoder.decode_region(encoded, crop.rect, min_size, min_size);
  decoded = Clock::now();
  // The crop comes before the resize, so its border is the border of the image.
  const double x = region.x - region.source.x;
  const double y = region.y - region.source.y;
  filter_x.build(region.source.width, x, x + region.width, size, 0, size);
  filter_y.build(region.source.height, y, y + region.height, size, 0, size);
  resize(region, filter_x.begin(), filter_y.begin(), crop.flip, 0, 0, out);
}

void ImagePipeline::Impl::run(const ResizeCenterCrop& options, std::span<const std::byte> encoded,
                              const SampleKey&, void* out) {
  const ImageInfo info = decoder.read_info(encoded);
  const CenterCropGeometry geometry = center_crop_geometry(options, info.width, info.height);
  const Rect& taken = geometry.taken;
  filter_x.build(info.width, 0, info.width, geometry.resized_width, taken.x, taken.width);
  filter_y.build(info.height, 0, info.height, geometry.resized_height, taken.y, taken.height);
  const Rect needed{filter_x.begin(), filter_y.begin(), filter_x.end() - filter_x.begin(),
                    filter_y.end() - filter_y.begin()};
  const ImageDecoder::Region region = decoder.decode_region(encoded, needed, 0, 0);
  decoded = Clock::now();
  if (taken.width < size || taken.height < size) resizer.fill_black(out);
  resize(region, 0, 0, false, geometry.pad_x, geometry.pad_y, out);
}

ImagePipeline::ImagePipeline(const ImageTransform& transform, const ImageOutput& output)
    : impl_(std::make_unique<Impl>(transform, output)) {}
ImagePipeline::~ImagePipeline() = default;
ImagePipeline::ImagePipeline(ImagePipeline&&) noexcept = default;
ImagePipeline& ImagePipeline::operator=(ImagePipeline&&) noexcept = default;

void ImagePipeline::run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
                        PipelineTimes& times) {
  const auto begin = Clock::now();
  std::visit([&](const auto& options) { impl_->run(options, encoded, key, out); },
             impl_->transform);
  times.decode_ns += nanoseconds(begin, impl_->decoded);
  times.transform_ns += nanoseconds(impl_->decoded, Clock::now());
}

}  // namespace ffkit
