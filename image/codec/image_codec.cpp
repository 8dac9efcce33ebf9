#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "bitmaps/bitmaps.h"
#include "codec/jpeg_decoder.h"
#include "codec/pixel_buffer.h"
#include "codec/png.h"
#include "format/content_kind.h"
#include "jpeg/libjpeg.h"

namespace ffkit {
namespace {

bool has_prefix(std::span<const std::byte> data, std::string_view prefix, size_t offset = 0) {
  return data.size() >= offset + prefix.size() &&
         std::memcmp(data.data() + offset, prefix.data(), prefix.size()) == 0;
}

// libpng's limit, for all: a resize takes 48 bytes a column.
constexpr int kMaxSide = 1'000'000;

void check_size(const ImageInfo& info) {
  if (int64_t{info.width} * info.height > ImageDecoder::max_pixels()) {
    throw error_of(ErrorCode::unsupported,
                   "the header says that the picture has {} x {} pixels, but ffkit decodes at most "
                   "{} pixels; make the picture smaller, or get the picture again if it is damaged",
                   info.width, info.height, ImageDecoder::max_pixels());
  }
  if (info.width > kMaxSide || info.height > kMaxSide) {
    throw error_of(ErrorCode::unsupported,
                   "the header says that the picture has {} x {} pixels, but ffkit decodes at most "
                   "{} pixels per side; cut the picture, or get the picture again if it is damaged",
                   info.width, info.height, kMaxSide);
  }
}

void check_region(const Rect& region, const ImageInfo& info) {
  if (region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
      region.width > info.width - region.x || region.height > info.height - region.y) {
    throw error_of(ErrorCode::invalid_argument,
                   "the region {}x{}+{}+{} (width x height + x + y) is not inside the picture of "
                   "{} x {} pixels",
                   region.width, region.height, region.x, region.y, info.width, info.height);
  }
}

// A PNG ends with this chunk, which is always the same.
bool has_png_end(std::span<const std::byte> data) {
  constexpr std::string_view kEnd("\0\0\0\0IEND\xae\x42\x60\x82", 12);
  return data.size() >= kEnd.size() && has_prefix(data, kEnd, data.size() - kEnd.size());
}

}  // namespace

JpegHuffmanDecoder jpeg_huffman_decoder() {
  if (!JpegHuffman::is_built()) return JpegHuffmanDecoder::libjpeg;
  return errors_only("", [] { return JpegDecoder::uses_hooks(); })
             ? JpegHuffmanDecoder::own
             : JpegHuffmanDecoder::libjpeg_after_check;
}

ImageEncoding detect_image_encoding(std::span<const std::byte> data) {
  if (has_prefix(data, "\xff\xd8\xff")) return ImageEncoding::jpeg;
  if (has_prefix(data, "\x89PNG\r\n\x1a\n")) return ImageEncoding::png;
  if (has_prefix(data, "RIFF") && has_prefix(data, "WEBP", 8)) return ImageEncoding::webp;
  if (is_bmp(data)) return ImageEncoding::bmp;
  if (is_pnm(data)) return ImageEncoding::ppm;
  if (is_dct_picture(data)) return ImageEncoding::dct;
  return ImageEncoding::unknown;
}

namespace {

bool is_printable(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
}

// Of unknown bytes: their beginning, and a remedy.
std::string describe_beginning(std::string_view text) {
  constexpr size_t kShown = 16;
  const std::string_view shown = text.substr(0, kShown);
  if (shown.size() >= 4 && std::ranges::all_of(shown, is_printable)) {
    std::string line(shown.substr(0, shown.find_first_of("\r\n")));
    std::ranges::replace(line, '\t', ' ');
    return fmt::format(
        "the data begin with the text '{}'); get the picture again, or leave the picture out",
        line);
  }
  std::string bytes;
  for (const char c : text.substr(0, 4)) {
    bytes += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format(
      "the data begin with the unknown bytes{}); convert the picture to one of these formats",
      bytes);
}

// Error(corrupt) where getting it again helps: it is empty, or went through a transfer as text;
// else Error(unsupported).
[[noreturn]] void throw_not_an_image(std::span<const std::byte> data) {
  if (data.empty()) {
    throw Error(ErrorCode::corrupt, "the picture is empty (0 bytes); get the file again");
  }
  if (is_all_zeros(data)) {
    throw error_of(ErrorCode::corrupt, "all {} bytes of the picture are 0; get the file again",
                   data.size());
  }
  constexpr std::string_view kRead = ", not JPEG, PNG, WebP, BMP, PPM, PGM or PBM";
  const ContentKind kind = content_kind(data);
  const bool is_through_text =
      kind == ContentKind::png_through_text || kind == ContentKind::jpeg_through_text;
  if (kind == ContentKind::unknown || kind == ContentKind::pnm || kind == ContentKind::bmp ||
      kind == ContentKind::utf8_with_bom) {
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    throw error_of(ErrorCode::unsupported, "the picture is {} ({}", kRead.substr(2),
                   describe_beginning(text));
  }
  const std::string_view remedy = content_remedy(kind);
  throw error_of(
      is_through_text ? ErrorCode::corrupt : ErrorCode::unsupported, "the picture is {}{}; {}",
      content_name(kind), is_through_text ? "" : kRead,
      remedy.empty() ? "replace the file with a picture, or leave the file out" : remedy);
}

// Whether JpegDecoder decodes it.
bool is_jpeg_or_dct(ImageEncoding encoding) {
  return encoding == ImageEncoding::jpeg || encoding == ImageEncoding::dct;
}

// read_image_info() of what JpegDecoder does not decode.
ImageInfo read_other_info(ImageEncoding encoding, std::span<const std::byte> data) {
  switch (encoding) {
    case ImageEncoding::png:
      return read_png_info(data);
    case ImageEncoding::webp:
      return read_webp_info(data);
    case ImageEncoding::bmp:
      return read_bmp_info(data);
    case ImageEncoding::ppm:
      return read_pnm_info(data);
    default:
      throw_not_an_image(data);
  }
}

}  // namespace

ImageInfo read_image_info(std::span<const std::byte> data) {
  const ImageEncoding encoding = detect_image_encoding(data);
  return errors_only("", [&] {
    return is_jpeg_or_dct(encoding) ? JpegDecoder().begin(data) : read_other_info(encoding, data);
  });
}

struct ImageDecoder::Impl {
  // Throws std::bad_alloc too, as all of these do.
  void begin(std::span<const std::byte> image) {
    is_begun = false;
    const ImageEncoding encoding = detect_image_encoding(image);
    info = is_jpeg_or_dct(encoding) ? jpeg.begin(image) : read_other_info(encoding, image);
    check_size(info);
    data = image;
    is_begun = true;
  }

  RgbView decode(std::span<const std::byte> image) {
    begin(image);
    is_begun = false;
    const Rect whole{0, 0, info.width, info.height};
    if (is_jpeg_or_dct(info.encoding)) return jpeg.read(whole, 1).pixels;
    Rect wanted;
    return decode_other(whole, wanted);
  }

  Region read(const Rect& region, int min_width, int min_height) {
    check_region(region, info);
    is_begun = false;
    return is_jpeg_or_dct(info.encoding) ? read_jpeg(region, min_width, min_height)
                                         : read_other(region);
  }

  Region read_jpeg(const Rect& region, int min_width, int min_height) {
    if (!jpeg.has_end()) {
      // Rows may be missing. That is found out at the last pixel, so that whether a JPEG is
      // truncated does not depend on the region.
      jpeg.read({info.width - 1, info.height - 1, 1, 1}, 1);
      jpeg.begin(data);
    }
    int denominator = choose_denominator(region, min_width, min_height);
    if (denominator > 1 && !jpeg.can_scale(denominator)) denominator = 1;
    // The part of the scaled picture that the region touches: its pixel i stands for the pixels
    // from i
    // * denominator on.
    const int x = region.x / denominator;
    const int y = region.y / denominator;
    const Rect scaled{x, y, scaled_jpeg_size(region.x + region.width, denominator) - x,
                      scaled_jpeg_size(region.y + region.height, denominator) - y};
    const JpegDecoder::Part part = jpeg.read(scaled, denominator);
    const double scale = denominator;
    return {.pixels = part.pixels,
            .wanted = {scaled.x - part.x, scaled.y - part.y, scaled.width, scaled.height},
            .x = region.x / scale - part.x,
            .y = region.y / scale - part.y,
            .width = region.width / scale,
            .height = region.height / scale};
  }

  Region read_other(const Rect& region) {
    Rect wanted;
    const RgbView pixels = decode_other(region, wanted);
    return {.pixels = pixels,
            .wanted = wanted,
            .x = static_cast<double>(wanted.x),
            .y = static_cast<double>(wanted.y),
            .width = static_cast<double>(region.width),
            .height = static_cast<double>(region.height)};
  }

  // At least `region` of what is not a JPEG; sets `wanted` to where it is in the result.
  RgbView decode_other(const Rect& region, Rect& wanted) {
    wanted = region;
    if (info.encoding == ImageEncoding::png) {
      // Where the end is missing, rows may be: that is found out by reading all.
      return png.decode(data, has_png_end(data) ? region.y + region.height : -1);
    }
    if (info.encoding == ImageEncoding::webp) return webp.decode(data);
    wanted = {0, 0, region.width, region.height};
    const auto stride = ptrdiff_t{3} * region.width;
    uint8_t* const pixels =
        bitmap.reserve(static_cast<size_t>(stride) * static_cast<size_t>(region.height));
    if (info.encoding == ImageEncoding::bmp) {
      decode_bmp(data, region, pixels);
    } else {
      decode_pnm(data, region, pixels);
    }
    return {pixels, region.width, region.height, stride};
  }

  WideRgbView read_wide(const Rect& region) {
    check_region(region, info);
    if (!info.has_16_bits) {
      throw Error(ErrorCode::invalid_argument,
                  "the picture has 8 bits per channel; call read_region() for such a picture");
    }
    is_begun = false;
    if (info.encoding == ImageEncoding::png) {
      const WideRgbView rows =
          png.decode_wide(data, has_png_end(data) ? region.y + region.height : -1);
      return {rows.data + region.y * rows.stride + ptrdiff_t{3} * region.x, region.width,
              region.height, rows.stride};
    }
    const auto stride = ptrdiff_t{3} * region.width;
    auto* const pixels = reinterpret_cast<uint16_t*>(bitmap.reserve(
        sizeof(uint16_t) * static_cast<size_t>(stride) * static_cast<size_t>(region.height)));
    decode_wide_pnm(data, region, pixels);
    return {pixels, region.width, region.height, stride};
  }

  // Of the picture that begin() has begun.
  std::span<const std::byte> data;
  ImageInfo info;
  bool is_begun = false;  // and no pixels of it are read

  JpegDecoder jpeg;
  PngDecoder png;
  WebpDecoder webp;
  PixelBuffer bitmap;  // of a BMP or PPM
};

ImageDecoder::ImageDecoder() : impl_(errors_only("", [] { return std::make_unique<Impl>(); })) {}
ImageDecoder::~ImageDecoder() = default;
ImageDecoder::ImageDecoder(ImageDecoder&&) noexcept = default;
ImageDecoder& ImageDecoder::operator=(ImageDecoder&&) noexcept = default;

RgbView ImageDecoder::decode(std::span<const std::byte> data) {
  return errors_only("", [&] { return impl_->decode(data); });
}

ImageDecoder::Region ImageDecoder::decode_region(std::span<const std::byte> data,
                                                 const Rect& region, int min_width,
                                                 int min_height) {
  return errors_only("", [&] {
    impl_->begin(data);
    return impl_->read(region, min_width, min_height);
  });
}

ImageInfo ImageDecoder::read_info(std::span<const std::byte> data) {
  errors_only("", [&] { impl_->begin(data); });
  return impl_->info;
}

ImageDecoder::Region ImageDecoder::read_region(const Rect& region, int min_width, int min_height) {
  if (!impl_->is_begun) {
    throw Error(ErrorCode::invalid_argument,
                "no picture is open; call read_info() before each read_region()");
  }
  return errors_only("", [&] { return impl_->read(region, min_width, min_height); });
}

WideRgbView ImageDecoder::read_wide_region(const Rect& region) {
  if (!impl_->is_begun) {
    throw Error(ErrorCode::invalid_argument,
                "no picture is open; call read_info() before each read_wide_region()");
  }
  return errors_only("", [&] { return impl_->read_wide(region); });
}

int64_t ImageDecoder::max_pixels() {
  return 178'956'970;
}

void encode_ppm(const RgbView& pixels, std::vector<std::byte>& out) {
  if (pixels.width < 1 || pixels.height < 1) {
    throw error_of(ErrorCode::invalid_argument,
                   "a PPM cannot have {} x {} pixels; expected 1 pixel or more per side",
                   pixels.width, pixels.height);
  }
  const std::string header = fmt::format("P6\n{} {}\n255\n", pixels.width, pixels.height);
  const size_t row_bytes = size_t{3} * static_cast<size_t>(pixels.width);
  errors_only("",
              [&] { out.resize(header.size() + row_bytes * static_cast<size_t>(pixels.height)); });
  std::memcpy(out.data(), header.data(), header.size());
  std::byte* row = out.data() + header.size();
  for (int y = 0; y < pixels.height; ++y, row += row_bytes) {
    std::memcpy(row, pixels.data + y * pixels.stride, row_bytes);
  }
}

struct JpegEncoder::Impl {
  Impl() {
    info.err = errors.base();
    errors.guard(0, [this] { jpeg_create_compress(&info); });
    target.manager.init_destination = [](j_compress_ptr) {};
    target.manager.empty_output_buffer = grow;
    target.manager.term_destination = [](j_compress_ptr) {};
    info.dest = &target.manager;
  }
  ~Impl() { jpeg_destroy_compress(&info); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Where libjpeg writes to.
  struct Target {
    // First, so that libjpeg's pointer to it is a pointer to Target.
    jpeg_destination_mgr manager = {};
    std::vector<std::byte>* out = nullptr;

    // Offers libjpeg all of `out` behind its first `used` bytes.
    void offer(size_t used) {
      manager.next_output_byte = reinterpret_cast<JOCTET*>(out->data() + used);
      manager.free_in_buffer = out->size() - used;
    }
  };

  // libjpeg calls it when the buffer is full, whatever it says of free_in_buffer.
  static boolean grow(j_compress_ptr info) {
    auto* target = reinterpret_cast<Target*>(info->dest);
    const size_t used = target->out->size();
    bool has_memory = true;
    try {
      target->out->resize(2 * used);
    } catch (const std::exception&) {
      has_memory = false;  // must not be thrown through C code
    }
    if (!has_memory) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
    target->offer(used);
    return TRUE;
  }

  void encode(const RgbView& pixels, int quality, std::vector<std::byte>& out) {
    constexpr size_t kFirstBytes = size_t{64} << 10;
    out.resize(std::max(kFirstBytes, out.capacity()));
    target.out = &out;
    target.offer(0);
    errors.guard(0, [&] {
      jpeg_abort_compress(&info);  // what a picture before may have left
      info.image_width = static_cast<JDIMENSION>(pixels.width);
      info.image_height = static_cast<JDIMENSION>(pixels.height);
      info.input_components = 3;
      info.in_color_space = JCS_RGB;
      jpeg_set_defaults(&info);
      jpeg_set_quality(&info, quality, TRUE);
      jpeg_start_compress(&info, TRUE);
      while (info.next_scanline < info.image_height) {
        // libjpeg does not write to its input; its interface is older than const.
        auto* row = const_cast<JSAMPROW>(pixels.data + info.next_scanline * pixels.stride);
        jpeg_write_scanlines(&info, &row, 1);
      }
      jpeg_finish_compress(&info);
    });
    out.resize(out.size() - target.manager.free_in_buffer);
  }

  JpegErrors errors;
  jpeg_compress_struct info = {};
  Target target;
};

JpegEncoder::JpegEncoder() : impl_(errors_only("", [] { return std::make_unique<Impl>(); })) {}
JpegEncoder::~JpegEncoder() = default;
JpegEncoder::JpegEncoder(JpegEncoder&&) noexcept = default;
JpegEncoder& JpegEncoder::operator=(JpegEncoder&&) noexcept = default;

void JpegEncoder::encode(const RgbView& pixels, int quality, std::vector<std::byte>& out) {
  if (quality < 1 || quality > 100) {
    throw error_of(ErrorCode::invalid_argument, "JPEG quality is {}; expected 1 to 100", quality);
  }
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > JPEG_MAX_DIMENSION ||
      pixels.height > JPEG_MAX_DIMENSION) {
    throw error_of(ErrorCode::invalid_argument,
                   "a JPEG cannot have {} x {} pixels; expected 1 to {} pixels per side",
                   pixels.width, pixels.height, JPEG_MAX_DIMENSION);
  }
  errors_only("", [&] { impl_->encode(pixels, quality, out); });
}

std::vector<std::byte> encode_jpeg(const RgbView& pixels, int quality) {
  std::vector<std::byte> out;
  JpegEncoder().encode(pixels, quality, out);
  errors_only("", [&] { out.shrink_to_fit(); });
  return out;
}

}  // namespace ffkit
