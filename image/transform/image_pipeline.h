// ImagePipeline: one sample from encoded bytes to its place in the batch: decode, crop, resize,
// flip, augment, normalise, lay out, erase.
//
// Keeps its buffers between samples. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>

namespace ffkit {

struct PipelineTimes {
  int64_t decode_ns = 0;
  int64_t transform_ns = 0;
};

class ImagePipeline {
 public:
  // The options must have passed validate().
  explicit ImagePipeline(const ImageOptions& options);
  ~ImagePipeline();
  ImagePipeline(ImagePipeline&&) noexcept;
  ImagePipeline& operator=(ImagePipeline&&) noexcept;

  // Writes the sample to `out`: [3, H, W] or [H, W, 3] of the output's dtype, 3 * H * W *
  // size_of(dtype) bytes, no alignment assumed beyond the element's. Throws what ImageDecoder and
  // PixelTransforms throw; `out` is undefined then. Adds to `times`.
  void run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
           PipelineTimes& times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
