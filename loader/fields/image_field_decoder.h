// ImageFieldDecoder: a FieldDecoder around ImagePipeline, which also counts its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/loader/field_decoder.h>

#include "image/views/picture_views.h"

namespace ffkit {

// Of one picture in a batch: [channels, H, W] or [H, W, channels].
inline std::vector<int64_t> picture_shape(const ImageOutput& output, ImageSize size) {
  if (output.layout == Layout::nchw) return {output.channels, size.height, size.width};
  return {size.height, size.width, output.channels};
}

// For a picture whose pixels were mixed: throws Error(unsupported) where it has a palette, and
// notes that they may be numbers where it is grey of 16 bits.
inline void check_mixed_pixels(const ImageInfo& info, FieldDecoder::Work& work) {
  if (info.has_palette) {
    throw Error(
        ErrorCode::unsupported,
        "a PNG with a palette, whose pixels are numbers, as masks have them; a resize would "
        "mix their colours, so load it with a MaskField, or, if it is a picture, with a "
        "PictureField or as the loader's picture");
  }
  work.resized_grey_of_16_bits |= info.has_16_bits && info.num_components <= 2;
}

class ImageFieldDecoder final : public FieldDecoder {
 public:
  struct ImageScratch final : Scratch {
    explicit ImageScratch(const ImageOptions& options) : pipeline(options) {}
    // As ImagePipeline's; counts its time, and looks at pictures whose pixels it mixed.
    void run(std::span<const std::byte> image, const SampleKey& key, void* out) {
      PipelineTimes times;
      pipeline.run(image, key, out, times);
      work.transform_ns += times.transform_ns;
      if (pipeline.mixes_pixels()) check_mixed_pixels(pipeline.info(), work);
    }
    ImagePipeline pipeline;
  };

  // Throws Error(invalid_argument) for options out of range.
  ImageFieldDecoder(size_t field, ImageOptions options)
      : field_(field), options_(std::move(options)) {
    validate(options_);
    if (padding_of(options_.transform) != nullptr) {
      throw Error(ErrorCode::invalid_argument,
                  "PadToLargest is for the loader's picture and its views, whose batches are cut; "
                  "end the Compose of this field with a step that gives one size");
    }
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
