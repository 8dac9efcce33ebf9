#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include <ffkit/format/error.h>
#include <ffkit/format/image_codec.h>

#include "jpeg_error.h"

namespace ffkit {
namespace {

// A compressor and the memory that libjpeg allocates for its output.
struct Compressor {
  Compressor() {
    info.err = errors.base();
    errors.guard(0, [this] {
      jpeg_create_compress(&info);
      jpeg_mem_dest(&info, &output, &num_bytes);
    });
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(output);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  JpegErrors errors;
  jpeg_compress_struct info = {};
  unsigned char* output = nullptr;
  unsigned long num_bytes = 0;
};

}  // namespace

std::vector<std::byte> encode_jpeg(const RgbView& pixels, int quality) {
  if (quality < 1 || quality > 100) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("JPEG quality is {}; expected 1 to 100", quality));
  }
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > JPEG_MAX_DIMENSION ||
      pixels.height > JPEG_MAX_DIMENSION) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a JPEG cannot have {} x {} pixels; expected 1 to {} each way",
                            pixels.width, pixels.height, JPEG_MAX_DIMENSION));
  }
  Compressor compressor;
  jpeg_compress_struct& info = compressor.info;
  compressor.errors.guard(0, [&] {
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
  const auto* bytes = reinterpret_cast<const std::byte*>(compressor.output);
  return {bytes, bytes + compressor.num_bytes};
}

}  // namespace ffkit
