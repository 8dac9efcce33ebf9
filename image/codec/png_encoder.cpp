#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include <ffkit/image/image_codec.h>

#include "format/errors_only.h"
#include "format/make_error.h"

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

std::vector<std::byte> write_png(const RgbView& pixels) {
  PngWriter writer;
  writer.guard([&] {
    png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(pixels.width),
                 static_cast<png_uint_32>(pixels.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writer.png, writer.info);
    for (int y = 0; y < pixels.height; ++y) {
      png_write_row(writer.png, pixels.data + y * pixels.stride);
    }
    png_write_end(writer.png, writer.info);
  });
  return std::move(writer.output);
}

}  // namespace

std::vector<std::byte> encode_png(const RgbView& pixels) {
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > kMaxPngSide ||
      pixels.height > kMaxPngSide) {
    throw error_of(ErrorCode::invalid_argument,
                   "a PNG cannot have {} x {} pixels; expected 1 to {} each way", pixels.width,
                   pixels.height, kMaxPngSide);
  }
  return errors_only("", [&] { return write_png(pixels); });
}

}  // namespace ffkit
