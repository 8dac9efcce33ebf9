// ImageFieldDecoder: a FieldDecoder around ImagePipeline, which also counts its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ffkit/loader/field_decoder.h>

#include "image/views/picture_views.h"

namespace ffkit {

// Of one picture in a batch: [3, H, W] or [H, W, 3].
inline std::vector<int64_t> picture_shape(const ImageOutput& output, ImageSize size) {
  if (output.layout == Layout::nchw) return {3, size.height, size.width};
  return {size.height, size.width, 3};
}

class ImageFieldDecoder final : public FieldDecoder {
 public:
  struct ImageScratch final : Scratch {
    explicit ImageScratch(const ImageOptions& options) : pipeline(options) {}
    // As ImagePipeline's; counts its time.
    void run(std::span<const std::byte> image, const SampleKey& key, void* out) {
      PipelineTimes times;
      pipeline.run(image, key, out, times);
      work.transform_ns += times.transform_ns;
    }
    ImagePipeline pipeline;
  };

  // Throws Error(invalid_argument) for options out of range.
  ImageFieldDecoder(size_t field, ImageOptions options)
      : field_(field), options_(std::move(options)) {
    validate(options_);
  }

  const ImageOptions& options() const { return options_; }
  size_t field() const { return field_; }
  DType dtype() const override { return options_.output.dtype; }
  std::vector<int64_t> shape() const override {
    return picture_shape(options_.output, image_size(options_.transform));
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return std::make_unique<ImageScratch>(options_);
  }
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    static_cast<ImageScratch&>(*scratch).run(record.bytes(field_), key, out);
  }

 private:
  size_t field_;
  ImageOptions options_;
};

}  // namespace ffkit
