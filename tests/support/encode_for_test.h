// JPEGs and PNGs of kinds that the product reads but does not write.
#pragma once

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>
#include <zlib.h>

#include "test_images.h"

namespace ffkit::testing {

struct JpegKind {
  // Luma sampling factors: 2x2 is 4:2:0, 2x1 4:2:2, 1x1 4:4:4, 4x1 4:1:1, 1x2 4:4:0.
  int h_samp = 2;
  int v_samp = 2;
  bool progressive = false;
  int restart_interval = 0;          // in MCUs
  J_COLOR_SPACE stored = JCS_YCbCr;  // or JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK
  int quality = 85;
  bool optimized = false;  // Huffman tables made for this picture
  bool arithmetic = false;
  // (h, v) of every component, instead of h_samp and v_samp.
  std::vector<std::pair<int, int>> samplings = {};
};

// Four-component kinds take the picture's RGB as CMY and red as K.
inline std::vector<std::byte> encode_jpeg_as(const Picture& picture, const JpegKind& kind) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);  // exits on errors, which a test's valid input has none of
  jpeg_create_compress(&info);
  unsigned char* output = nullptr;
  unsigned long num_bytes = 0;
  jpeg_mem_dest(&info, &output, &num_bytes);
  const bool four = kind.stored == JCS_CMYK || kind.stored == JCS_YCCK;
  info.image_width = JDIMENSION(picture.width);
  info.image_height = JDIMENSION(picture.height);
  info.input_components = four ? 4 : 3;
  info.in_color_space = four ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kind.stored);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (kind.stored == JCS_YCbCr || kind.stored == JCS_YCCK) {
    info.comp_info[0].h_samp_factor = kind.h_samp;
    info.comp_info[0].v_samp_factor = kind.v_samp;
  }
  if (kind.stored == JCS_YCCK) {
    info.comp_info[3].h_samp_factor = kind.h_samp;
    info.comp_info[3].v_samp_factor = kind.v_samp;
  }
  for (size_t c = 0; c < kind.samplings.size(); ++c) {
    info.comp_info[c].h_samp_factor = kind.samplings[c].first;
    info.comp_info[c].v_samp_factor = kind.samplings[c].second;
  }
  info.optimize_coding = kind.optimized ? TRUE : FALSE;
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&info);
  info.restart_interval = unsigned(kind.restart_interval);
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row(size_t(picture.width) * 4);
  while (info.next_scanline < info.image_height) {
    const uint8_t* rgb = picture.at(0, int(info.next_scanline));
    for (int x = 0; x < picture.width; ++x) {
      const size_t n = four ? 4 : 3;
      std::memcpy(&row[n * size_t(x)], rgb + 3 * x, 3);
      if (four) row[n * size_t(x) + 3] = rgb[3 * x];
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&info, &rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::byte> result(num_bytes);
  std::memcpy(result.data(), output, num_bytes);
  std::free(output);
  return result;
}

// The first `count` scans of a JPEG, as a whole file. What they leave open is missing.
inline std::vector<std::byte> first_scans(const std::vector<std::byte>& jpeg, int count) {
  size_t end = 2;
  for (size_t i = 2; i + 1 < jpeg.size(); ++i) {
    if (jpeg[i] != std::byte{0xFF} || jpeg[i + 1] != std::byte{0xDA}) continue;
    if (count-- == 0) break;
    // Up to the next marker. Tables of the next scan may stand there.
    end = i + 2;
    const auto is_marker = [&] {
      return jpeg[end] == std::byte{0xFF} && jpeg[end + 1] != std::byte{0};
    };
    while (end + 1 < jpeg.size() && !is_marker()) ++end;
  }
  std::vector<std::byte> result(jpeg.begin(), jpeg.begin() + std::ptrdiff_t(end));
  result.insert(result.end(), {std::byte{0xFF}, std::byte{0xD9}});
  return result;
}

// What libjpeg alone makes of an image: its RGB pixels, or an empty picture when it gives up. Sets
// `num_warnings`.
inline Picture decode_with_libjpeg(const std::vector<std::byte>& data,
                                   long* num_warnings = nullptr) {
  struct Errors {
    jpeg_error_mgr manager;
    std::jmp_buf jump;
  } errors;
  jpeg_decompress_struct info = {};
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr common) {
    std::longjmp(reinterpret_cast<Errors*>(common->err)->jump, 1);
  };
  errors.manager.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&info);
  Picture picture;
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_decompress(&info);
    return {};
  }
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  picture.width = int(info.output_width);
  picture.height = int(info.output_height);
  picture.rgb.resize(size_t(picture.width) * size_t(picture.height) * 3);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = &picture.rgb[size_t(info.output_scanline) * size_t(picture.width) * 3];
    jpeg_read_scanlines(&info, &row, 1);
  }
  if (num_warnings != nullptr) *num_warnings = errors.manager.num_warnings;
  jpeg_destroy_decompress(&info);
  return picture;
}

// `rows` are packed as PNG packs them for `color_type` and `bit_depth` (16 bit: high byte first).
struct PngKind {
  int color_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette;
  std::vector<png_byte> palette_alpha;
  double gamma = 0;
};

inline std::vector<std::byte> encode_png_as(int width, int height, const std::vector<uint8_t>& rows,
                                            const PngKind& kind) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::vector<std::byte> result;
  png_set_write_fn(
      png, &result,
      [](png_structp p, png_bytep data, size_t n) {
        auto* out = static_cast<std::vector<std::byte>*>(png_get_io_ptr(p));
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        out->insert(out->end(), bytes, bytes + n);
      },
      nullptr);
  png_set_IHDR(png, info, png_uint_32(width), png_uint_32(height), kind.bit_depth, kind.color_type,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty()) {
    png_set_PLTE(png, info, kind.palette.data(), int(kind.palette.size()));
  }
  if (!kind.palette_alpha.empty()) {
    png_set_tRNS(png, info, kind.palette_alpha.data(), int(kind.palette_alpha.size()), nullptr);
  }
  if (kind.gamma > 0) png_set_gAMA(png, info, kind.gamma);
  png_write_info(png, info);
  const size_t stride = rows.size() / size_t(height);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) {
    pointers.push_back(const_cast<png_bytep>(&rows[size_t(y) * stride]));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return result;
}

// EXIF data whose directory has a maker's name, which is none, and the orientation.
inline std::string exif_data(int orientation, bool is_little_endian) {
  const auto number = [is_little_endian](uint32_t value, int num_bytes) {
    std::string text;
    for (int i = 0; i < num_bytes; ++i) {
      text += char(value >> (8 * (is_little_endian ? i : num_bytes - 1 - i)) & 0xFF);
    }
    return text;
  };
  std::string tiff = (is_little_endian ? "II" : "MM") + number(42, 2) + number(8, 4);
  tiff += number(2, 2);
  tiff += number(0x010F, 2) + number(2, 2) + number(1, 4) + number(0, 4);
  tiff += number(0x0112, 2) + number(3, 2) + number(1, 4);
  tiff += number(uint32_t(orientation), 2) + number(0, 2);
  return tiff;
}

// A JPEG or a PNG with EXIF data in it.
inline std::vector<std::byte> with_exif(std::vector<std::byte> image, std::string_view exif) {
  std::string part;
  const bool is_png = detect_image_encoding(image) == ImageEncoding::png;
  if (is_png) {
    part = "eXIf" + std::string(exif);
    const auto sum =
        uint32_t(crc32(0, reinterpret_cast<const Bytef*>(part.data()), uInt(part.size())));
    for (const int shift : {0, 8, 16, 24}) part.insert(part.begin(), char(exif.size() >> shift));
    for (const int shift : {24, 16, 8, 0}) part += char(sum >> shift);
  } else {
    part = std::string("Exif\0\0", 6) + std::string(exif);
    const size_t length = part.size() + 2;
    part = std::string("\xFF\xE1") + char(length >> 8) + char(length & 0xFF) + part;
  }
  const auto bytes = std::as_bytes(std::span(part));
  // Behind the header's chunk of a PNG, and the first marker of a JPEG.
  image.insert(image.begin() + (is_png ? 33 : 2), bytes.begin(), bytes.end());
  return image;
}

}  // namespace ffkit::testing
