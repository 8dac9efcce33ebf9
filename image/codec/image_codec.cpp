#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <ffkit/format/error.h>
#include <ffkit/image/image_codec.h>

#include "codec/bmp_decoder.h"
#include "codec/jpeg_decoder.h"
#include "codec/png_decoder.h"
#include "codec/ppm_codec.h"
#include "codec/webp_decoder.h"

namespace ffkit {
namespace {

bool has_prefix(std::span<const std::byte> data, std::string_view prefix, size_t offset = 0) {
  return data.size() >= offset + prefix.size() &&
         std::memcmp(data.data() + offset, prefix.data(), prefix.size()) == 0;
}

// What people are likely to have that is not read.
std::string_view describe_image(std::span<const std::byte> data) {
  if (has_prefix(data, "GIF8")) return "GIF";
  if (has_prefix(data, std::string_view("II*\0", 4))) return "TIFF";
  if (has_prefix(data, std::string_view("MM\0*", 4))) return "TIFF";
  return "unknown";
}

[[noreturn]] void throw_unsupported(std::span<const std::byte> data) {
  if (data.empty()) {
    throw Error(ErrorCode::corrupt, "the image is empty (0 bytes); get the file again");
  }
  std::string first_bytes;
  for (size_t i = 0; i < std::min<size_t>(data.size(), 4); ++i) {
    first_bytes += fmt::format("{}{:02x}", i == 0 ? "" : " ", std::to_integer<int>(data[i]));
  }
  throw Error(
      ErrorCode::unsupported,
      fmt::format("the image is none of JPEG, PNG, WebP, BMP, PPM and PGM ({}, begins with {}); "
                  "convert it to one of them",
                  describe_image(data), first_bytes));
}

// libpng's limit, for all: a resize takes 48 bytes a column.
constexpr int kMaxSide = 1'000'000;

void check_size(const ImageInfo& info) {
  if (int64_t{info.width} * info.height > ImageDecoder::max_pixels()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the image claims {} x {} pixels, more than the {} that are decoded; "
                            "it is broken or must be made smaller",
                            info.width, info.height, ImageDecoder::max_pixels()));
  }
  if (info.width > kMaxSide || info.height > kMaxSide) {
    throw Error(ErrorCode::unsupported,
                fmt::format("the image claims {} x {} pixels, more than the {} each way that are "
                            "decoded; it is broken or must be cut",
                            info.width, info.height, kMaxSide));
  }
}

void check_region(const Rect& region, const ImageInfo& info) {
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
      region.width > info.width - region.x || region.height > info.height - region.y) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("region {}x{}+{}+{} does not lie within the image of {} x {} pixels",
                    region.width, region.height, region.x, region.y, info.width, info.height));
  }
}

// A PNG ends with this chunk, which is always the same.
bool has_png_end(std::span<const std::byte> data) {
  constexpr std::string_view kEnd("\0\0\0\0IEND\xae\x42\x60\x82", 12);
  return data.size() >= kEnd.size() && has_prefix(data, kEnd, data.size() - kEnd.size());
}

// The largest of 1, 2, 4, 8 that leaves at least min_width x min_height of the region.
int choose_denominator(const Rect& region, int min_width, int min_height) {
  if (min_width <= 0 && min_height <= 0) return 1;
  int denominator = 8;
  while (denominator > 1 && (region.width < int64_t{denominator} * min_width ||
                             region.height < int64_t{denominator} * min_height)) {
    denominator /= 2;
  }
  return denominator;
}

}  // namespace

std::string_view to_string(ImageEncoding encoding) {
  switch (encoding) {
    case ImageEncoding::jpeg:
      return "jpeg";
    case ImageEncoding::png:
      return "png";
    case ImageEncoding::webp:
      return "webp";
    case ImageEncoding::bmp:
      return "bmp";
    case ImageEncoding::ppm:
      return "ppm";
    case ImageEncoding::unknown:
      break;
  }
  return "unknown";
}

JpegHuffmanDecoder jpeg_huffman_decoder() {
  if (!JpegHuffman::is_built()) return JpegHuffmanDecoder::libjpeg;
  return JpegDecoder::uses_own_huffman() ? JpegHuffmanDecoder::own
                                         : JpegHuffmanDecoder::libjpeg_after_check;
}

ImageEncoding detect_image_encoding(std::span<const std::byte> data) {
  if (has_prefix(data, "\xff\xd8\xff")) return ImageEncoding::jpeg;
  if (has_prefix(data, "\x89PNG\r\n\x1a\n")) return ImageEncoding::png;
  if (has_prefix(data, "RIFF") && has_prefix(data, "WEBP", 8)) return ImageEncoding::webp;
  if (has_prefix(data, "BM")) return ImageEncoding::bmp;
  if (is_ppm(data)) return ImageEncoding::ppm;
  return ImageEncoding::unknown;
}

namespace {

// read_image_info() of what is not a JPEG.
ImageInfo read_other_info(ImageEncoding encoding, std::span<const std::byte> data) {
  switch (encoding) {
    case ImageEncoding::png:
      return read_png_info(data);
    case ImageEncoding::webp:
      return read_webp_info(data);
    case ImageEncoding::bmp:
      return read_bmp_info(data);
    case ImageEncoding::ppm:
      return read_ppm_info(data);
    default:
      throw_unsupported(data);
  }
}

}  // namespace

ImageInfo read_image_info(std::span<const std::byte> data) {
  const ImageEncoding encoding = detect_image_encoding(data);
  return encoding == ImageEncoding::jpeg ? JpegDecoder().begin(data)
                                         : read_other_info(encoding, data);
}

struct ImageDecoder::Impl {
  ImageInfo begin(std::span<const std::byte> data) {
    encoding = detect_image_encoding(data);
    const ImageInfo info =
        encoding == ImageEncoding::jpeg ? jpeg.begin(data) : read_other_info(encoding, data);
    check_size(info);
    return info;
  }

  // At least `region` of what begin() read and is not a JPEG; sets `source` to where it is in the result.
  RgbView decode_other(std::span<const std::byte> data, const Rect& region, Rect& source) {
    source = region;
    if (encoding == ImageEncoding::png) {
      // Where the end is missing, rows may be: that is found out by reading all.
      return png.decode(data, has_png_end(data) ? region.y + region.height : -1);
    }
    if (encoding == ImageEncoding::webp) return webp.decode(data);
    source = {0, 0, region.width, region.height};
    return encoding == ImageEncoding::bmp ? bmp.decode(data, region) : ppm.decode(data, region);
  }

  ImageEncoding encoding = ImageEncoding::unknown;
  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  BmpDecoder bmp;
  PpmDecoder ppm;
};

ImageDecoder::ImageDecoder() : impl_(std::make_unique<Impl>()) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

RgbView ImageDecoder::decode(std::span<const std::byte> data) {
  const ImageInfo info = impl_->begin(data);
  const Rect whole{0, 0, info.width, info.height};
  if (impl_->encoding == ImageEncoding::jpeg) return impl_->jpeg.read(whole, 1).pixels;
  Rect source;
  return impl_->decode_other(data, whole, source);
}

ImageDecoder::Region ImageDecoder::decode_region(std::span<const std::byte> data,
                                                 const Rect& region, int min_width,
                                                 int min_height) {
  const ImageInfo info = impl_->begin(data);
  check_region(region, info);
  Region result;
  if (impl_->encoding != ImageEncoding::jpeg) {
    result.pixels = impl_->decode_other(data, region, result.source);
    result.x = result.source.x;
    result.y = result.source.y;
    result.width = region.width;
    result.height = region.height;
    return result;
  }
  if (!impl_->jpeg.has_end()) {
    // Rows may be missing. That is found out at the last pixel, so that whether a JPEG is truncated does not depend on the region.
    impl_->jpeg.read({info.width - 1, info.height - 1, 1, 1}, 1);
    impl_->jpeg.begin(data);
  }
  const int denominator = choose_denominator(region, min_width, min_height);
  // The part of the scaled image that the region touches: its pixel i stands for the pixels from i
  // * denominator on.
  const int x = region.x / denominator;
  const int y = region.y / denominator;
  const Rect scaled{x, y, scaled_jpeg_size(region.x + region.width, denominator) - x,
                    scaled_jpeg_size(region.y + region.height, denominator) - y};
  const JpegDecoder::Part part = impl_->jpeg.read(scaled, denominator);
  const double scale = denominator;
  result.pixels = part.pixels;
  result.source = {scaled.x - part.x, scaled.y - part.y, scaled.width, scaled.height};
  result.x = region.x / scale - part.x;
  result.y = region.y / scale - part.y;
  result.width = region.width / scale;
  result.height = region.height / scale;
  return result;
}

ImageInfo ImageDecoder::read_info(std::span<const std::byte> data) {
  return impl_->begin(data);
}

int64_t ImageDecoder::max_pixels() {
  return 178'956'970;
}

}  // namespace ffkit
