// PictureViews: all views of one picture after another. The picture is decoded once for them: what
// they need together, at the smallest fraction of its size at which each has the pixels it needs.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>
#include <ffkit/image/view_geometry.h>

#include "transform/crop_plan.h"
#include "views/view_renderer.h"

namespace ffkit {

struct PipelineTimes {
  int64_t decode_ns = 0;
  int64_t transform_ns = 0;
};

class PictureViews {
 public:
  // One view for each of the options, which must have passed validate().
  explicit PictureViews(std::vector<ImageOptions> views);

  // Reads the header of the next picture and plans its views, one after the other: `keys` has one
  // for each picture that is to be made, and `views` the number of the view that it is of. The
  // bytes must be there until the last write(). Throws what ImageDecoder throws. Adds to `times`.
  void begin(std::span<const std::byte> encoded, std::span<const size_t> views,
             std::span<const SampleKey> keys, PipelineTimes& times);

  const ImageInfo& info() const { return info_; }
  // Of picture `i` of those that begin() was told.
  const CropPlan& plan(size_t i) const { return pictures_[i].plan; }

  // Writes picture `i`: [3, H, W] or [H, W, 3] of its output's dtype, no alignment assumed beyond
  // the element's. Throws what ImageDecoder and PixelTransforms throw; `out` is undefined then.
  // Adds to `times`.
  void write(size_t i, void* out, PipelineTimes& times);

 private:
  struct Picture {
    size_t view = 0;
    SampleKey key;
    CropPlan plan;
    bool is_wide = false;
    WantedPixels wanted;
  };
  // What is decoded, of 8 or 16 bits.
  struct Decoded {
    bool is_wide = false;
    Rect rect;  // of the picture
    ImageDecoder::Region region;
    WideRgbView wide;
  };

  void decode(bool is_wide);
  ImageDecoder::Region part_of(const Rect& wanted) const;
  WideRgbView wide_part_of(const Rect& wanted) const;

  std::vector<ImageTransform> transforms_;  // of the views
  std::vector<ViewRenderer> renderers_;     // of the views
  std::vector<size_t> last_wanted_;         // by view: the picture that its renderer was asked for
  ImageDecoder decoder_;
  std::span<const std::byte> encoded_;
  ImageInfo info_;
  bool has_begun_ = false;  // the decoder has the header, and no pixels yet
  std::vector<Picture> pictures_;
  std::optional<Decoded> decoded_;
};

// The matrix of a plan.
ViewMatrix view_matrix(const CropPlan& plan);

}  // namespace ffkit
