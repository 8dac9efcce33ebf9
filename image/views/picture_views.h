// PictureViews: all views of one picture after another. The picture is decoded once for them: what
// they need together, at the smallest fraction of its size at which each has the pixels it needs.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>

namespace ffkit {

struct Move;

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
  // for each picture that is to be made, and `views` the number of the view that it is of. `boxes`
  // gives the picture's boxes for a view with a RandomIoUCrop. The
  // bytes must be there until the last write(). Throws what ImageDecoder and `boxes` throw, and
  // Error(unsupported) for 16 bits a channel that a view would lose. Adds to `times`.
  using Boxes = std::function<std::vector<BoxEdges>(size_t view, const ImageInfo& info)>;
  void begin(std::span<const std::byte> encoded, std::span<const size_t> views,
             std::span<const SampleKey> keys, PipelineTimes& times, const Boxes& boxes = {});

  // The same for a further picture of the sample, as view 0, which goes where pictures of `leader`
  // went: `first` is the first of them, and there is one for each of `keys`. Throws Error(corrupt)
  // where the picture is of another size.
  void follow(std::span<const std::byte> encoded, const PictureViews& leader, size_t first,
              std::span<const SampleKey> keys, PipelineTimes& times);

  const ImageInfo& info() const;
  // Of picture `i` of those that begin() was told: its moves, those of its augmentations and its
  // padding too, and where pixels go.
  const std::vector<Move>& moves(size_t i) const;
  ViewMatrix matrix(size_t i) const;
  // How much of the view, from the top left, is the picture's: all but what PadToLargest adds.
  ImageSize picture_size(size_t i) const;

  // Whether its pixels are mixed of several: resized, or turned with a filter.
  bool mixes_pixels(size_t i) const;

  // What becomes of a box or a point of the stored picture. Moves that crop, pad or warp cut boxes
  // at their canvas, and the view cuts all.
  struct MovedBox {
    BoxEdges edges;      // within the view, upright
    double visible = 1;  // share of its area that is left
    bool is_left = true;
  };
  MovedBox move_box(size_t i, const BoxEdges& box) const;
  struct MovedPoint {
    double x, y;
    bool is_inside = true;  // of all canvases that cut boxes
  };
  MovedPoint move_point(size_t i, double x, double y) const;

  // Writes picture `i`: [3, H, W] or [H, W, 3] of its output's dtype, no alignment assumed beyond
  // the element's. Throws what ImageDecoder and PixelTransforms throw; `out` is undefined then.
  // Adds to `times`.
  void write(size_t i, void* out, PipelineTimes& times);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Throws Error(corrupt) unless what belongs to a picture has the size of it.
void require_size_of_picture(const char* what, int width, int height, const ImageInfo& picture);

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

  // Of the picture that run() was told last.
  const ImageInfo& info() const { return views_.info(); }
  bool mixes_pixels() const { return views_.mixes_pixels(0); }

 private:
  PictureViews views_;
};

}  // namespace ffkit
