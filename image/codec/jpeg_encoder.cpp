#include <algorithm>
#include <exception>

#include <ffkit/image/image_codec.h>

#include "base/make_error.h"
#include "jpeg/libjpeg.h"

namespace ffkit {

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
                   "a JPEG cannot have {} x {} pixels; expected 1 to {} each way", pixels.width,
                   pixels.height, JPEG_MAX_DIMENSION);
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
