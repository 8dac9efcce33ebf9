// Codecs of pictures: from encoded bytes to facts and pixels, and back. libjpeg-turbo decodes JPEG,
// libpng PNG, libwebp WebP, and ffkit itself BMP and netpbm's PPM, PGM and PBM. Raw pixels are
// stored as a PPM. A JPEG in the dct code (dct_picture.h) gives the pixels of the JPEG.
//
// The first bytes determine the encoding, never a file name. Pixels are those of Pillow's
// `convert("RGB")`: grey is repeated, alpha is dropped, CMYK and YCCK are converted like Pillow,
// and EXIF orientation is not applied. With 16 bits per channel, RGB has the high byte; Pillow does
// the same for colours, and cuts grey at 255.
//
// All functions throw Error(io) if memory runs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/image/image_info.h>
#include <ffkit/image/mask.h>

namespace ffkit {

// Recognises the encoding only from the first bytes ("magic number").
ImageEncoding detect_image_encoding(std::span<const std::byte> data);

// Reads only the header. Throws Error(unsupported) for an encoding that is not handled,
// Error(corrupt) for a broken header.
ImageInfo read_image_info(std::span<const std::byte> data);

// The Huffman decoder for JPEGs, which takes over half of the decoding time. The pixels are the
// same. With libjpeg's, a picture in the dct code is first converted back to a JPEG, which is
// slower than decoding the JPEG.
enum class JpegHuffmanDecoder : uint8_t {
  own,      // ffkit's, hooked into libjpeg (build option FFKIT_JPEG_HUFFMAN)
  libjpeg,  // libjpeg's: the build is without the option
  // libjpeg's: with the libjpeg of this process, ffkit's gave other pixels in a self-test
  libjpeg_after_check
};
// Finds out once in a process.
JpegHuffmanDecoder jpeg_huffman_decoder();

// Decodes many pictures and keeps its memory between them. Not thread-safe: one per thread.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  // Decodes the whole picture. The view lives until the next call. Throws Error(corrupt) for broken
  // or truncated data, Error(unsupported) for an encoding that is not handled and for more than
  // max_pixels() pixels or 1,000,000 each way.
  RgbView decode(std::span<const std::byte> data);

  // A region of a picture, perhaps at a fraction of its size.
  struct Region {
    RgbView pixels;                // covers at least the rectangle that was asked for
    Rect wanted;                   // that rectangle in coordinates of `pixels`, in whole pixels
    double x = 0, y = 0;           // its exact top left corner; scaling makes fractions
    double width = 0, height = 0;  // its exact size
  };
  // Decodes at least `region`, which must lie within the picture. The view lives until the next
  // call. Throws as decode().
  //
  // A JPEG, also in the dct code, is decoded at 1/1, 1/2, 1/4 or 1/8 of its size (DCT scaling): the
  // smallest at which the region has at least min_width x min_height pixels. 0 for both forbids
  // scaling. The pixels are those of the whole picture at that scale. JPEGs of rare samplings, such
  // as 2x4, are never scaled.
  //
  // Truncation is found for any region: if a file lacks its end (the end of image after a JPEG's
  // scan, IEND of a PNG), all of it is read. Other damage is found only in decoded parts.
  Region decode_region(std::span<const std::byte> data, const Rect& region, int min_width,
                       int min_height);

  // Like read_image_info(), with this decoder's memory. Also refuses pictures that are too large.
  ImageInfo read_info(std::span<const std::byte> data);

  // Like decode_region(), for the picture of the last read_info(), without reading its header
  // again. The encoded bytes must still be there. Throws Error(invalid_argument) if this decoder
  // has read pixels since.
  Region read_region(const Rect& region, int min_width, int min_height);

  // The same for a picture with has_16_bits: exactly `region`, with values of 16 bits. Throws
  // Error(invalid_argument) for other pictures.
  WideRgbView read_wide_region(const Rect& region);

  // 178,956,970, Pillow's limit against decompression bombs. Larger pictures are refused before
  // memory is allocated.
  static int64_t max_pixels();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes RGB pixels as a baseline JPEG (4:2:0); `quality` is 1 .. 100 as in libjpeg. Throws
// Error(invalid_argument) for another quality, and for less than 1 or more than 65,500 pixels each
// way.
std::vector<std::byte> encode_jpeg(const RgbView& pixels, int quality = 90);

// Like encode_jpeg(), for many pictures: keeps libjpeg's compressor between them. Not thread-safe:
// one per thread.
class JpegEncoder {
 public:
  JpegEncoder();
  ~JpegEncoder();
  JpegEncoder(JpegEncoder&&) noexcept;
  JpegEncoder& operator=(JpegEncoder&&) noexcept;

  // Replaces the content of `out` and uses its memory again.
  void encode(const RgbView& pixels, int quality, std::vector<std::byte>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes RGB pixels as an 8-bit RGB PNG without loss. The same pixels give the same bytes. Throws
// Error(invalid_argument) for less than 1 or more than 1,000,000 pixels each way.
std::vector<std::byte> encode_png(const RgbView& pixels);

// The same with an alpha channel: `rgba` has 4 * width * height bytes.
std::vector<std::byte> encode_rgba_png(std::span<const uint8_t> rgba, int width, int height);

// Encodes the numbers of a mask as a grey PNG of 8 (u8) or 16 bits (u16), unfiltered and without
// loss. The same numbers give the same bytes. Throws Error(invalid_argument) for other types, and
// for less than 1 or more than 1,000,000 pixels each way.
std::vector<std::byte> encode_mask_png(const MaskView& mask);

// Writes RGB pixels unchanged after a header of a few bytes: a binary PPM ("P6", maxval 255).
// Decoding it is a copy of memory. Replaces the content of `out`. Throws Error(invalid_argument)
// for less than 1 pixel each way.
void encode_ppm(const RgbView& pixels, std::vector<std::byte>& out);

}  // namespace ffkit
