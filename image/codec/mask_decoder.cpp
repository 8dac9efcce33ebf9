#include "codec/mask_decoder.h"

#include <cstdint>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "codec/png.h"

namespace ffkit {

void require_mask(const ImageInfo& info, MaskNumbers numbers) {
  if (info.encoding != ImageEncoding::png) {
    const bool is_jpeg =
        info.encoding == ImageEncoding::jpeg || info.encoding == ImageEncoding::dct;
    const bool is_webp = info.encoding == ImageEncoding::webp;
    const bool is_bmp = info.encoding == ImageEncoding::bmp;
    const bool is_pgm = !is_webp && !is_jpeg && !is_bmp && info.num_components == 1;
    // Pillow gives pictures of WebP three channels, and scales the numbers of a PGM.
    throw error_of(
        ErrorCode::unsupported, "the mask is {}; save masks as PNG with one channel{}",
        is_webp   ? "a WebP picture, which keeps the saved numbers only if it is lossless"
        : is_jpeg ? "a JPEG, and saving as JPEG may have changed the ids"
        : is_bmp  ? "a BMP picture, which ffkit does not read as a mask"
        : is_pgm
            ? "a PGM, and Pillow changes its numbers if the largest value in its header is not 255"
            : "a PPM, which ffkit does not read as a mask",
        is_jpeg || is_pgm ? "" : ": Image.open(mask).getchannel(0).save(\"mask.png\")");
  }
  if (info.num_components == 2 || info.num_components == 4) {
    throw Error(ErrorCode::unsupported,
                "the mask is a PNG with an alpha channel, so ffkit does not know which channel has "
                "the ids; save masks as PNG with one channel");
  }
  if (info.num_components == 3 && numbers == MaskNumbers::values) {
    throw Error(
        ErrorCode::unsupported,
        "the mask is a PNG with colours instead of ids; save the mask with one channel or a "
        "palette, or read the mask as a panoptic mask (id = red + 256 green + 65536 blue)");
  }
  if (info.num_components == 3 && info.has_16_bits) {
    throw Error(ErrorCode::unsupported,
                "the panoptic mask has 16 bits per channel, but it must have 8 bits");
  }
}

struct MaskDecoder::Impl {
  ImageDecoder header;
  PngDecoder png;
  std::vector<int32_t> panoptic;
};

MaskDecoder::MaskDecoder() : impl_(std::make_unique<Impl>()) {}
MaskDecoder::~MaskDecoder() = default;
MaskDecoder::MaskDecoder(MaskDecoder&&) noexcept = default;
MaskDecoder& MaskDecoder::operator=(MaskDecoder&&) noexcept = default;

MaskView MaskDecoder::decode(std::span<const std::byte> data, MaskNumbers numbers) {
  return errors_only("", [&] {
    // Refuses what is no picture, and sizes that are too large.
    const ImageInfo info = impl_->header.read_info(data);
    require_mask(info, numbers);
    const PngDecoder::Numbers png = impl_->png.decode_numbers(data);
    MaskView mask{.data = png.data,
                  .dtype = png.is_wide ? DType::u16 : DType::u8,
                  .width = png.width,
                  .height = png.height,
                  .stride = png.stride};
    if (info.num_components == 1) return mask;
    impl_->panoptic.resize(static_cast<size_t>(png.width) * static_cast<size_t>(png.height));
    int32_t* to = impl_->panoptic.data();
    for (int y = 0; y < png.height; ++y) {
      const auto* rgb = static_cast<const uint8_t*>(png.data) + y * png.stride;
      for (int x = 0; x < png.width; ++x, rgb += 3) {
        *to++ = rgb[0] + 256 * rgb[1] + 65536 * rgb[2];
      }
    }
    mask.data = impl_->panoptic.data();
    mask.dtype = DType::i32;
    mask.stride = png.width;
    return mask;
  });
}

}  // namespace ffkit
