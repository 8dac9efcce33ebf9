#include "codec/png_decoder.h"

#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "base/big_endian.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kSignatureBytes = 8;
// Signature, chunk length and name, then 10 bytes up to the colour type.
constexpr size_t kHeaderEnd = 26;

// libpng's read structure and what its callbacks need.
struct Reader {
  explicit Reader(std::span<const std::byte> bytes) : data(bytes) {
    png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning, this,
                                   on_malloc, on_free);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png, this, on_read);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Calls `body`, which may call libpng; its failure becomes Error(corrupt) or std::bad_alloc. The
  // jump skips destructors: `body` owns nothing.
  template <typename Body>
  void guard(const Body& body) {
    if (setjmp(jump) != 0) {
      if (is_out_of_memory) throw std::bad_alloc();
      throw error_of(ErrorCode::corrupt, "broken PNG (libpng: {}); get the file again", message);
    }
    body();
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<Reader*>(png_get_error_ptr(png));
    std::snprintf(self->message, sizeof(self->message), "%s", text);
    std::longjmp(self->jump, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static png_voidp on_malloc(png_structp png, png_alloc_size_t num_bytes) {
    void* memory = std::malloc(num_bytes);
    if (memory == nullptr) static_cast<Reader*>(png_get_mem_ptr(png))->is_out_of_memory = true;
    return memory;
  }
  static void on_free(png_structp, png_voidp memory) { std::free(memory); }
  static void on_read(png_structp png, png_bytep out, size_t num_bytes) {
    auto* self = static_cast<Reader*>(png_get_io_ptr(png));
    if (num_bytes > self->data.size() - self->position) png_error(png, "the data ends too early");
    std::memcpy(out, self->data.data() + self->position, num_bytes);
    self->position += num_bytes;
  }

  std::span<const std::byte> data;
  size_t position = 0;
  bool is_out_of_memory = false;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[128] = "";
};

void swap_bytes_of_16_bits(Reader& reader) {
  if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
}

void ask_for_rgb(Reader& reader, bool is_wide) {
  const int color_type = png_get_color_type(reader.png, reader.info);
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(reader.png);
  if ((color_type & PNG_COLOR_MASK_COLOR) == 0) {
    png_set_expand_gray_1_2_4_to_8(reader.png);
    png_set_gray_to_rgb(reader.png);
  }
  if (!is_wide) {
    png_set_strip_16(reader.png);  // keeps the high byte, as Pillow does for colour
  } else {
    swap_bytes_of_16_bits(reader);
  }
  png_set_strip_alpha(reader.png);
}

void ask_for_numbers(Reader& reader) {
  png_set_packing(reader.png);  // a byte for each number of fewer bits
  swap_bytes_of_16_bits(reader);
}

}  // namespace

ImageInfo read_png_info(std::span<const std::byte> data) {
  if (data.size() < kHeaderEnd || std::memcmp(data.data() + kSignatureBytes + 4, "IHDR", 4) != 0) {
    throw error_of(ErrorCode::corrupt, "broken PNG: no header in its {} bytes; get the file again",
                   data.size());
  }
  const uint32_t width = load_be_u32(data.data() + 16);
  const uint32_t height = load_be_u32(data.data() + 20);
  if (width == 0 || height == 0 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX) {
    throw error_of(ErrorCode::corrupt,
                   "broken PNG: its header claims {} x {} pixels; get the file again", width,
                   height);
  }
  ImageInfo info{.encoding = ImageEncoding::png,
                 .width = static_cast<int>(width),
                 .height = static_cast<int>(height),
                 .has_16_bits = data[24] == std::byte{16},
                 .has_palette = data[25] == std::byte{PNG_COLOR_TYPE_PALETTE}};
  switch (std::to_integer<int>(data[25])) {
    case PNG_COLOR_TYPE_GRAY:
    case PNG_COLOR_TYPE_PALETTE:
      info.num_components = 1;
      break;
    case PNG_COLOR_TYPE_GRAY_ALPHA:
      info.num_components = 2;
      break;
    case PNG_COLOR_TYPE_RGB:
      info.num_components = 3;
      break;
    case PNG_COLOR_TYPE_RGB_ALPHA:
      info.num_components = 4;
      break;
    default:
      throw error_of(ErrorCode::corrupt, "broken PNG: unknown colour type {}; get the file again",
                     std::to_integer<int>(data[25]));
  }
  return info;
}

struct PngDecoder::Rows {
  uint8_t* data;
  int width;
  int height;
  size_t stride;  // bytes
  bool is_wide;   // 16 bits a channel
};

PngDecoder::Rows PngDecoder::read_rows(std::span<const std::byte> data, int num_rows, Form form) {
  Reader reader(data);
  reader.guard([&] {
    png_read_info(reader.png, reader.info);
    if (form == Form::numbers) {
      ask_for_numbers(reader);
    } else {
      ask_for_rgb(reader, form == Form::wide_rgb);
    }
  });
  bool is_interlaced = false;
  reader.guard([&] {
    is_interlaced = png_set_interlace_handling(reader.png) > 1;
    png_read_update_info(reader.png, reader.info);
  });
  const auto width = static_cast<int>(png_get_image_width(reader.png, reader.info));
  const auto height = static_cast<int>(png_get_image_height(reader.png, reader.info));
  // An interlaced picture has its rows only at the end.
  const int rows_to_read = num_rows < 0 || is_interlaced ? height : num_rows;
  const size_t stride = png_get_rowbytes(reader.png, reader.info);
  uint8_t* pixels = pixels_.reserve(stride * static_cast<size_t>(rows_to_read));
  std::vector<png_bytep> rows(rows_to_read);
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = pixels + row * stride;
  reader.guard([&] {
    if (is_interlaced) {
      png_read_image(reader.png, rows.data());
    } else {
      png_read_rows(reader.png, rows.data(), nullptr, static_cast<png_uint_32>(rows_to_read));
    }
  });
  const bool is_wide = png_get_bit_depth(reader.png, reader.info) == 16;
  return {pixels, width, rows_to_read, stride, is_wide};
}

RgbView PngDecoder::decode(std::span<const std::byte> data, int num_rows) {
  const Rows rows = read_rows(data, num_rows, Form::rgb);
  return {rows.data, rows.width, rows.height, static_cast<ptrdiff_t>(rows.stride)};
}

WideRgbView PngDecoder::decode_wide(std::span<const std::byte> data, int num_rows) {
  const Rows rows = read_rows(data, num_rows, Form::wide_rgb);
  return {reinterpret_cast<const uint16_t*>(rows.data), rows.width, rows.height,
          static_cast<ptrdiff_t>(rows.stride / sizeof(uint16_t))};
}

PngDecoder::Numbers PngDecoder::decode_numbers(std::span<const std::byte> data) {
  const Rows rows = read_rows(data, -1, Form::numbers);
  const size_t bytes = rows.is_wide ? 2 : 1;
  return {rows.data, rows.is_wide, rows.width, rows.height,
          static_cast<ptrdiff_t>(rows.stride / bytes)};
}

}  // namespace ffkit
