// Image codecs: what is in an encoded image and its pixels. JPEG by libjpeg-turbo, PNG by libpng,
// WebP by libwebp; BMP and netpbm's PPM, PGM and PBM by ffkit itself (a PPM is the form in which
// raw pixels are stored). JPEGs in the dct code (dct_picture.h) decode as the JPEGs do, to the same
// pixels.
//
// The encoding is recognised by its first bytes, never by a file name. Pixels agree with Pillow's
// `convert("RGB")`: grey is repeated, alpha is dropped, CMYK and YCCK are converted as Pillow does,
// EXIF orientation is not applied. Where a picture has 16 bits a channel, its RGB has the high byte
// of each; Pillow does that with colours, and cuts grey at 255.
//
// Where memory runs out, all of these throw Error(io), which says so: it is not the image that is
// broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/image/image_info.h>

namespace ffkit {

std::string_view to_string(ImageEncoding encoding);

// Recognises the encoding from the first bytes ("magic number") alone.
ImageEncoding detect_image_encoding(std::span<const std::byte> data);

// Reads the header only. Throws Error(unsupported) for an encoding that is not handled,
// Error(corrupt) for a broken header.
ImageInfo read_image_info(std::span<const std::byte> data);

// Who does the Huffman decoding of JPEGs, over half of the time that a picture takes. The pixels
// are the same. Where it is libjpeg, a picture in the dct code is made a JPEG again first, which
// takes longer than decoding the JPEG.
enum class JpegHuffmanDecoder : uint8_t {
  own,      // ffkit, hooked into libjpeg: the build option FFKIT_JPEG_HUFFMAN
  libjpeg,  // libjpeg: the build is without the option
  // libjpeg: with the one that this process runs, ffkit's gave other pixels for a built-in picture
  libjpeg_after_check
};
// Looks once a process.
JpegHuffmanDecoder jpeg_huffman_decoder();

// Decodes images one after another and keeps its memory between them. Not thread-safe: one per
// thread.
class ImageDecoder {
 public:
  ImageDecoder();
  ~ImageDecoder();
  ImageDecoder(ImageDecoder&&) noexcept;
  ImageDecoder& operator=(ImageDecoder&&) noexcept;

  // Decodes the whole image. The view lives until the next call. Throws Error(corrupt) for broken
  // or truncated data, Error(unsupported) for encodings not handled and for more than
  // `max_pixels()` pixels or 1,000,000 each way.
  RgbView decode(std::span<const std::byte> data);

  // A part of an image, perhaps at a fraction of its size.
  struct Region {
    RgbView pixels;       // covers at least the wished rectangle
    Rect source;          // the wished rectangle in `pixels`' coordinates ...
    double x = 0, y = 0;  // ... whose exact top left corner is here (fractions arise from scaling)
    double width = 0, height = 0;  // and whose exact extent is this
  };
  // Decodes at least `region` of the image. A JPEG (and its dct code) is decoded at 1/1, 1/2, 1/4
  // or 1/8 of its size (DCT scaling), the smallest at which the region is still at least min_width
  // x min_height; pass 0 for both to forbid scaling (then the pixels are those of decode()). The
  // pixels are those of a decode of the whole image at that scale. JPEGs of rare samplings, such as
  // 2x4, are never scaled. `region` must lie within the image. The view lives until the next call.
  // Errors as for decode(). Whether an image is truncated does not depend on the region: where the
  // file lacks its end (an end of image behind the JPEG's scan, the PNG's IEND), all of it is read.
  // Other damage is noticed where it is decoded.
  Region decode_region(std::span<const std::byte> data, const Rect& region, int min_width,
                       int min_height);

  // read_image_info() with this decoder's memory; also refuses what is too large.
  ImageInfo read_info(std::span<const std::byte> data);

  // decode_region() of the image whose read_info() was called last, without reading the header
  // again: once, and its bytes must still be there. Throws Error(invalid_argument) when this
  // decoder has read pixels since.
  Region read_region(const Rect& region, int min_width, int min_height);

  // The same of an image whose info says has_16_bits: exactly `region`, each value of 16 bits.
  // Throws Error(invalid_argument) for others.
  WideRgbView read_wide_region(const Rect& region);

  // Larger images are refused before anything is allocated: 178,956,970 pixels, as Pillow's
  // decompression bomb limit.
  static int64_t max_pixels();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes RGB pixels as a baseline JPEG (4:2:0); `quality` is 1 .. 100 as in libjpeg. Throws
// Error(invalid_argument) for another quality, and for less than 1 or more than 65,500 pixels each
// way.
std::vector<std::byte> encode_jpeg(const RgbView& pixels, int quality = 90);

// encode_jpeg() for one image after another: keeps libjpeg's compressor between them. Not
// thread-safe: one per thread.
class JpegEncoder {
 public:
  JpegEncoder();
  ~JpegEncoder();
  JpegEncoder(JpegEncoder&&) noexcept;
  JpegEncoder& operator=(JpegEncoder&&) noexcept;

  // Replaces the content of `out`, whose memory is used again.
  void encode(const RgbView& pixels, int quality, std::vector<std::byte>& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Encodes RGB pixels as an 8-bit RGB PNG without loss. The same pixels give the same bytes. Throws
// Error(invalid_argument) for less than 1 or more than 1,000,000 pixels each way.
std::vector<std::byte> encode_png(const RgbView& pixels);

// RGB pixels as they are, behind a header of a few bytes: a binary PPM ("P6", maxval 255), which
// decodes as fast as memory is copied. Replaces the content of `out`. Throws
// Error(invalid_argument) for less than 1 pixel each way.
void encode_ppm(const RgbView& pixels, std::vector<std::byte>& out);

}  // namespace ffkit
