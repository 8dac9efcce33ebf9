#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include <ffkit/image/image_codec.h>

#include "base/errors_only.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr int kMaxPngSide = 1'000'000;  // libpng's own limit (PNG_USER_WIDTH_MAX)

// libpng's write structure and what its callbacks need.
struct PngWriter {
  PngWriter() {
    png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, this, on_error, on_warning, this,
                                    on_malloc, on_free);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) {
      png_destroy_write_struct(&png, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png, this, on_write, on_flush);
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  // Calls `body`, which may call libpng. The jump skips destructors: `body` owns nothing.
  template <typename Body>
  void guard(const Body& body) {
    if (setjmp(jump) != 0) {
      if (is_out_of_memory) throw std::bad_alloc();
      throw error_of(ErrorCode::invalid_argument,
                     "the pixels cannot be written as PNG (libpng: {})", message);
    }
    body();
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngWriter*>(png_get_error_ptr(png));
    std::snprintf(self->message, sizeof(self->message), "%s", text);
    std::longjmp(self->jump, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static png_voidp on_malloc(png_structp png, png_alloc_size_t num_bytes) {
    void* memory = std::malloc(num_bytes);
    if (memory == nullptr) static_cast<PngWriter*>(png_get_mem_ptr(png))->is_out_of_memory = true;
    return memory;
  }
  static void on_free(png_structp, png_voidp memory) { std::free(memory); }
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
  bool is_out_of_memory = false;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[128] = "";
};

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
                 "a PNG cannot have {} x {} pixels; expected 1 to {} each way", width, height,
                 kMaxPngSide);
}

}  // namespace

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
    throw error_of(ErrorCode::invalid_argument, "{} bytes are not the pixels of {} x {} RGBA",
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
                   "a PNG cannot have numbers of type {}; expected u8 or u16",
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
