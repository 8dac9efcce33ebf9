// ViewRenderer: from the decoded pixels of a picture to one view of it in the batch: crop, resize,
// flip, augment, normalise, lay out, erase.
//
// Keeps its buffers between pictures. Not thread-safe: one per thread.
#pragma once

#include <memory>
#include <span>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_options.h>
#include <ffkit/image/random.h>

#include "moves/moves.h"
#include "transform/picture_scaler.h"

namespace ffkit {

class ViewRenderer {
 public:
  // The options must have passed validate().
  explicit ViewRenderer(const ImageOptions& options);
  ~ViewRenderer();
  ViewRenderer(ViewRenderer&&) noexcept;
  ViewRenderer& operator=(ViewRenderer&&) noexcept;

  // Whether it takes values of 16 bits of such a picture, by run_wide(); else by run(). Throws
  // Error(unsupported) where the values would lose bits and the output is not u8.
  bool is_wide(const ImageInfo& info) const;
  // What must be decoded for the moves.
  WantedPixels wanted(std::span<const Move> moves, bool is_wide);

  // Writes the view to `out`, as ImagePipeline::run() does. The pixels are those of wanted(moves),
  // which was called last.
  void run(const ImageDecoder::Region& region, std::span<const Move> moves, const SampleKey& key,
           void* out);
  // Throws Error(unsupported) for colours of 16 bits that are to be grey.
  void run_wide(const WideRgbView& pixels, std::span<const Move> moves, const SampleKey& key,
                void* out);

  // Zeros right of and below the `picture`, which is a part of the view.
  void clear_padding(ImageSize picture, void* out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
