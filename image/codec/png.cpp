#include "codec/png.h"

#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <ffkit/image/image_codec.h>

#include "base/little_endian.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kSignatureBytes = 8;
// Signature, chunk length and name, then 10 bytes up to the colour type.
constexpr size_t kHeaderEnd = 26;
constexpr int kMaxPngSide = 1'000'000;  // libpng's own limit (PNG_USER_WIDTH_MAX)

// libpng's structures and what its callbacks need, of a reader or a writer.
struct PngState {
  explicit PngState(bool writes) : is_writer(writes) {
    png = is_writer ? png_create_write_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning,
                                                this, on_malloc, on_free)
                    : png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning,
                                               this, on_malloc, on_free);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      destroy();
      throw std::bad_alloc();
    }
  }
  ~PngState() { destroy(); }
  PngState(const PngState&) = delete;
  PngState& operator=(const PngState&) = delete;

  void destroy() {
    if (is_writer) {
      png_destroy_write_struct(&png, &info);
    } else {
      png_destroy_read_struct(&png, &info, nullptr);
    }
  }

  // Calls `body`, which may call libpng; its failure becomes Error or std::bad_alloc. The jump
  // skips destructors: `body` owns nothing.
  template <typename Body>
  void guard(const Body& body) {
    if (setjmp(jump) != 0) {
      if (is_out_of_memory) throw std::bad_alloc();
      throw is_writer
          ? error_of(ErrorCode::invalid_argument,
                     "the pixels cannot be written as PNG (libpng: {})", message)
          : error_of(ErrorCode::corrupt, "broken PNG (libpng: {}); get the file again", message);
    }
    body();
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngState*>(png_get_error_ptr(png));
    std::snprintf(self->message, sizeof(self->message), "%s", text);
    std::longjmp(self->jump, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static png_voidp on_malloc(png_structp png, png_alloc_size_t num_bytes) {
    void* memory = std::malloc(num_bytes);
    if (memory == nullptr) static_cast<PngState*>(png_get_mem_ptr(png))->is_out_of_memory = true;
    return memory;
  }
  static void on_free(png_structp, png_voidp memory) { std::free(memory); }

  bool is_writer;
  bool is_out_of_memory = false;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[128] = "";
};

struct PngReader : PngState {
  explicit PngReader(std::span<const std::byte> bytes) : PngState(false), data(bytes) {
    png_set_read_fn(png, this, on_read);
  }

  static void on_read(png_structp png, png_bytep out, size_t num_bytes) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (num_bytes > self->data.size() - self->position) png_error(png, "the data ends too early");
    std::memcpy(out, self->data.data() + self->position, num_bytes);
    self->position += num_bytes;
  }

  std::span<const std::byte> data;
  size_t position = 0;
};

struct PngWriter : PngState {
  PngWriter() : PngState(true) { png_set_write_fn(png, this, on_write, on_flush); }

  static void on_flush(png_structp) {}
  static void on_write(png_structp png, png_bytep data, size_t num_bytes) {
    auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    // No exception may pass through libpng, which is C.
    try {
      self->output.insert(self->output.end(), bytes, bytes + num_bytes);
    } catch (const std::bad_alloc&) {
      self->is_out_of_memory = true;
    }
    if (self->is_out_of_memory) png_error(png, "out of memory");
  }

  std::vector<std::byte> output;
};

void swap_bytes_of_16_bits(PngReader& reader) {
  if constexpr (std::endian::native == std::endian::little) png_set_swap(reader.png);
}

void ask_for_rgb(PngReader& reader, bool is_wide) {
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

void ask_for_numbers(PngReader& reader) {
  png_set_packing(reader.png);  // a byte for each number of fewer bits
  swap_bytes_of_16_bits(reader);
}

// What is written, whatever its pixels are.
struct PngRows {
  const uint8_t* data;  // big endian where there are 16 bits
  int width;
  int height;
  ptrdiff_t stride;  // in bytes
  int bit_depth;
  int color_type;
  int filters;
  bool is_little_endian = false;
};

std::vector<std::byte> write_png(const PngRows& rows) {
  PngWriter writer;
  writer.guard([&] {
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(rows.width),
                 static_cast<png_uint_32>(rows.height), rows.bit_depth, rows.color_type,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (rows.filters != PNG_ALL_FILTERS) {
      png_set_filter(writer.png, PNG_FILTER_TYPE_BASE, rows.filters);
    }
    png_write_info(writer.png, writer.info);
    if (rows.is_little_endian) png_set_swap(writer.png);
    for (int y = 0; y < rows.height; ++y) {
      png_write_row(writer.png, rows.data + y * rows.stride);
    }
    png_write_end(writer.png, writer.info);
  });
  return std::move(writer.output);
}

void require_png_size(int width, int height) {
  if (width >= 1 && height >= 1 && width <= kMaxPngSide && height <= kMaxPngSide) return;
  throw error_of(ErrorCode::invalid_argument,
                 "a PNG cannot have {} x {} pixels; expected 1 to {} pixels per side", width,
                 height, kMaxPngSide);
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
  PngReader reader(data);
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

std::vector<std::byte> encode_png(const RgbView& pixels) {
  require_png_size(pixels.width, pixels.height);
  return errors_only("", [&] {
    return write_png({.data = pixels.data,
                      .width = pixels.width,
                      .height = pixels.height,
                      .stride = pixels.stride,
                      .bit_depth = 8,
                      .color_type = PNG_COLOR_TYPE_RGB,
                      .filters = PNG_ALL_FILTERS});
  });
}

std::vector<std::byte> encode_rgba_png(std::span<const uint8_t> rgba, int width, int height) {
  require_png_size(width, height);
  if (rgba.size() != 4 * static_cast<size_t>(width) * static_cast<size_t>(height)) {
    throw error_of(ErrorCode::invalid_argument, "{} bytes do not fit {} x {} RGBA pixels",
                   rgba.size(), width, height);
  }
  return errors_only("", [&] {
    return write_png({.data = rgba.data(),
                      .width = width,
                      .height = height,
                      .stride = ptrdiff_t{4} * width,
                      .bit_depth = 8,
                      .color_type = PNG_COLOR_TYPE_RGB_ALPHA,
                      .filters = PNG_ALL_FILTERS});
  });
}

std::vector<std::byte> encode_mask_png(const MaskView& mask) {
  require_png_size(mask.width, mask.height);
  if (mask.dtype != DType::u8 && mask.dtype != DType::u16) {
    throw error_of(ErrorCode::invalid_argument,
                   "a PNG cannot store numbers of type {}; expected u8 or u16",
                   to_string(mask.dtype));
  }
  const bool is_wide = mask.dtype == DType::u16;
  return errors_only("", [&] {
    // Filters of differences make numbers that stand for themselves larger.
    return write_png({.data = static_cast<const uint8_t*>(mask.data),
                      .width = mask.width,
                      .height = mask.height,
                      .stride = mask.stride * (is_wide ? 2 : 1),
                      .bit_depth = is_wide ? 16 : 8,
                      .color_type = PNG_COLOR_TYPE_GRAY,
                      .filters = PNG_FILTER_NONE,
                      .is_little_endian = is_wide && std::endian::native == std::endian::little});
  });
}

}  // namespace ffkit
