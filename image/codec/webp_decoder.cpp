#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "codec/png.h"

namespace ffkit {
namespace {

const uint8_t* bytes_of(std::span<const std::byte> data) {
  return reinterpret_cast<const uint8_t*>(data.data());
}

[[noreturn]] void throw_broken_webp(const char* what, std::span<const std::byte> data) {
  // RIFF says how long the file is, but for its own 8 bytes.
  const size_t claimed =
      data.size() < 12 ? data.size() : size_t{8} + load_le<uint32_t>(data.data() + 4);
  const std::string length =
      claimed == data.size() || claimed + 1 == data.size()
          ? ""
          : fmt::format(", and the file has {} bytes, but its header says {} bytes", data.size(),
                        claimed);
  throw error_of(ErrorCode::corrupt, "broken WebP: {}{}; get the file again", what, length);
}

[[noreturn]] void throw_webp_error(VP8StatusCode status, std::span<const std::byte> data) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      throw error_of(ErrorCode::corrupt,
                     "truncated WebP: its {} bytes are not the whole picture; get the file again",
                     data.size());
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      throw Error(ErrorCode::unsupported,
                  "this kind of WebP is not supported by libwebp; convert it to a JPEG or a PNG");
    default:
      throw_broken_webp("its compressed pixels are damaged", data);
  }
}

// libwebp (1.2) also calls a picture broken when memory for its tables runs out. So memory as it
// needs it at most is tried.
bool has_memory_for(int width, int height) {
  constexpr size_t kTables = size_t{1} << 20;
  const size_t num_bytes = size_t{4} * static_cast<size_t>(width) * static_cast<size_t>(height);
  return std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[num_bytes + kTables]) != nullptr;
}

WebPBitstreamFeatures read_features(std::span<const std::byte> data) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(data), data.size(), &features);
  if (status != VP8_STATUS_OK) throw_webp_error(status, data);
  return features;
}

// The first picture of an animation, and where it lies in the whole.
class FirstPicture {
 public:
  FirstPicture(std::span<const std::byte> data, const WebPBitstreamFeatures& whole) {
    const WebPData all{bytes_of(data), data.size()};
    demuxer_.reset(WebPDemux(&all));
    if (demuxer_ == nullptr && !has_memory_for(1, 1)) throw std::bad_alloc();
    if (demuxer_ == nullptr || WebPDemuxGetFrame(demuxer_.get(), 1, &frame_) == 0) {
      throw_broken_webp("its animation ends too early or is damaged", data);
    }
    if (frame_.x_offset < 0 || frame_.y_offset < 0 ||
        frame_.width > whole.width - frame_.x_offset ||
        frame_.height > whole.height - frame_.y_offset) {
      throw_broken_webp("the first picture of its animation is outside of its canvas", data);
    }
  }
  ~FirstPicture() { WebPDemuxReleaseIterator(&frame_); }
  FirstPicture(const FirstPicture&) = delete;
  FirstPicture& operator=(const FirstPicture&) = delete;

  std::span<const std::byte> data() const {
    return std::as_bytes(std::span(frame_.fragment.bytes, frame_.fragment.size));
  }
  int x() const { return frame_.x_offset; }
  int y() const { return frame_.y_offset; }
  int width() const { return frame_.width; }
  int height() const { return frame_.height; }

 private:
  struct Delete {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
  };
  std::unique_ptr<WebPDemuxer, Delete> demuxer_;
  WebPIterator frame_{};
};

// Writes the pixels of a picture that is no animation, of the size that `features` say, to rows
// `stride` bytes apart.
void decode_still(std::span<const std::byte> data, const WebPBitstreamFeatures& features,
                  uint8_t* out, int stride) {
  WebPDecoderConfig config;
  // False only for headers of another version than the library's.
  if (WebPInitDecoderConfig(&config) == 0) throw_webp_error(VP8_STATUS_INVALID_PARAM, data);
  config.input = features;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  const size_t num_bytes = static_cast<size_t>(stride) * static_cast<size_t>(features.height - 1) +
                           size_t{3} * static_cast<size_t>(features.width);
  config.output.u.RGBA = {out, stride, num_bytes};
  const VP8StatusCode status = WebPDecode(bytes_of(data), data.size(), &config);
  if (status == VP8_STATUS_BITSTREAM_ERROR && !has_memory_for(features.width, features.height))
    throw std::bad_alloc();
  if (status != VP8_STATUS_OK) throw_webp_error(status, data);
}

}  // namespace

ImageInfo read_webp_info(std::span<const std::byte> data) {
  const WebPBitstreamFeatures features = read_features(data);
  if (features.has_animation != 0) (void)FirstPicture(data, features);
  return {.encoding = ImageEncoding::webp,
          .width = features.width,
          .height = features.height,
          .num_components = features.has_alpha != 0 ? 4 : 3,
          .is_animation = features.has_animation != 0};
}

RgbView WebpDecoder::decode(std::span<const std::byte> data) {
  const WebPBitstreamFeatures features = read_features(data);
  const int stride = 3 * features.width;
  const size_t num_bytes = static_cast<size_t>(stride) * static_cast<size_t>(features.height);
  uint8_t* const pixels = pixels_.reserve(num_bytes);
  if (features.has_animation == 0) {
    decode_still(data, features, pixels, stride);
  } else {
    // As libwebp's WebPAnimDecoder has it, whose pixels are Pillow's: black around the first
    // picture, and nothing to blend it with.
    const FirstPicture first(data, features);
    const WebPBitstreamFeatures own = read_features(first.data());
    if (own.width != first.width() || own.height != first.height()) {
      throw_broken_webp("the first picture of its animation has two different sizes", data);
    }
    std::fill_n(pixels, num_bytes, uint8_t{0});
    decode_still(first.data(), own, pixels + first.y() * ptrdiff_t{stride} + 3 * first.x(), stride);
  }
  return {pixels, features.width, features.height, stride};
}

}  // namespace ffkit
