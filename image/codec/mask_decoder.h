// MaskDecoder: the numbers of a mask, from a PNG. Keeps its memory between masks. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <ffkit/image/image_info.h>
#include <ffkit/image/mask.h>

namespace ffkit {

// Throws Error(unsupported) unless a picture of this header may be a mask; MaskDecoder::decode().
void require_mask(const ImageInfo& info, MaskNumbers numbers);

class MaskDecoder {
 public:
  MaskDecoder();
  ~MaskDecoder();
  MaskDecoder(MaskDecoder&&) noexcept;
  MaskDecoder& operator=(MaskDecoder&&) noexcept;

  // The view lives until the next call. Throws Error(corrupt) for a broken PNG, Error(unsupported)
  // for what is no mask: another encoding, a PNG of colours without MaskNumbers::panoptic, or with
  // alpha, and for a picture that is too large.
  MaskView decode(std::span<const std::byte> data, MaskNumbers numbers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
