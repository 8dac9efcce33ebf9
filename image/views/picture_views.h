// PictureViews: all views of one picture after another. The picture is decoded once for them: what
// they need together, at the smallest fraction of its size at which each has the pixels it needs.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ffkit/image/image_info.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>
#include <ffkit/image/view_geometry.h>

namespace ffkit {

struct CropPlan;

struct PipelineTimes {
  int64_t decode_ns = 0;
  int64_t transform_ns = 0;
};

class PictureViews {
 public:
  // One view for each of the options, which must have passed validate().
  explicit PictureViews(const std::vector<ImageOptions>& views);
  ~PictureViews();
  PictureViews(PictureViews&&) noexcept;
  PictureViews& operator=(PictureViews&&) noexcept;

  // Reads the header of the next picture and plans its views, one after the other: `keys` has one
  // for each picture that is to be made, and `views` the number of the view that it is of. The
  // bytes must be there until the last write(). Throws what ImageDecoder throws. Adds to `times`.
  void begin(std::span<const std::byte> encoded, std::span<const size_t> views,
             std::span<const SampleKey> keys, PipelineTimes& times);

  const ImageInfo& info() const;
  // Of picture `i` of those that begin() was told: its plan, and where pixels go.
  const CropPlan& plan(size_t i) const;
  ViewMatrix matrix(size_t i) const;

  // Writes picture `i`: [3, H, W] or [H, W, 3] of its output's dtype, no alignment assumed beyond
  // the element's. Throws what ImageDecoder and PixelTransforms throw; `out` is undefined then.
  // Adds to `times`.
  void write(size_t i, void* out, PipelineTimes& times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One view of one picture after another: decode, crop, resize, flip, augment, normalise, lay out,
// erase.
class ImagePipeline {
 public:
  // The options must have passed validate().
  explicit ImagePipeline(const ImageOptions& options) : views_({options}) {}

  // Writes the sample to `out`, as PictureViews::write() does.
  void run(std::span<const std::byte> encoded, const SampleKey& key, void* out,
           PipelineTimes& times) {
    const size_t first = 0;
    views_.begin(encoded, {&first, 1}, {&key, 1}, times);
    views_.write(0, out, times);
  }

 private:
  PictureViews views_;
};

}  // namespace ffkit
