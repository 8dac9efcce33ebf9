// ImagePipeline: one sample from encoded bytes to its place in the batch: decode, crop, resize,
// flip, augment, normalise, lay out, erase. PictureViews of one view.
//
// Keeps its buffers between samples. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <span>

#include "views/picture_views.h"

namespace ffkit {

class ImagePipeline {
 public:
  // The options must have passed validate().
  explicit ImagePipeline(const ImageOptions& options) : views_({options}) {}

  // Writes the sample to `out`, as PictureViews::write() does.
  void run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
           PipelineTimes& times);

 private:
  PictureViews views_;
};

}  // namespace ffkit
