// MaskDecoder: the numbers of a mask, from a PNG. Keeps its memory between masks. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <ffkit/image/mask.h>

namespace ffkit {

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
