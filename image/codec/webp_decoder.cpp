#include "codec/webp_decoder.h"

#include <fmt/format.h>
#include <webp/decode.h>

#include <memory>
#include <new>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

const uint8_t* bytes_of(std::span<const std::byte> data) {
  return reinterpret_cast<const uint8_t*>(data.data());
}

[[noreturn]] void throw_webp_error(VP8StatusCode status, size_t num_bytes) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      throw std::bad_alloc();
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      throw Error(
          ErrorCode::corrupt,
          fmt::format(
              "truncated WebP: its {} bytes end before the picture does; get the file again",
              num_bytes));
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      throw Error(ErrorCode::unsupported,
                  "this kind of WebP is not handled by libwebp; convert it to a JPEG or a PNG");
    default:
      throw Error(ErrorCode::corrupt,
                  fmt::format("broken WebP (libwebp: status {}); get the file again",
                              static_cast<int>(status)));
  }
}

// libwebp (1.2) also calls a picture broken when memory for its tables runs out. So memory as it needs it at most is tried.
bool has_memory_for(int width, int height) {
  constexpr size_t kTables = size_t{1} << 20;
  const size_t num_bytes = size_t{4} * static_cast<size_t>(width) * static_cast<size_t>(height);
  return std::unique_ptr<uint8_t[]>(new (std::nothrow) uint8_t[num_bytes + kTables]) != nullptr;
}

WebPBitstreamFeatures read_features(std::span<const std::byte> data) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(data), data.size(), &features);
  if (status != VP8_STATUS_OK) throw_webp_error(status, data.size());
  return features;
}

}  // namespace

ImageInfo read_webp_info(std::span<const std::byte> data) {
  const WebPBitstreamFeatures features = read_features(data);
  if (features.has_animation != 0) {
    throw Error(ErrorCode::unsupported,
                "the WebP is an animation; convert one of its pictures to a JPEG or a PNG");
  }
  return {ImageEncoding::webp, features.width, features.height, features.has_alpha != 0 ? 4 : 3};
}

RgbView WebpDecoder::decode(std::span<const std::byte> data) {
  WebPDecoderConfig config;
  // False only for headers of another version than the library's.
  if (WebPInitDecoderConfig(&config) == 0) throw_webp_error(VP8_STATUS_INVALID_PARAM, data.size());
  config.input = read_features(data);
  const int width = config.input.width;
  const int height = config.input.height;
  const int stride = 3 * width;
  const size_t num_bytes = static_cast<size_t>(stride) * static_cast<size_t>(height);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {pixels_.reserve(num_bytes), stride, num_bytes};
  const VP8StatusCode status = WebPDecode(bytes_of(data), data.size(), &config);
  if (status == VP8_STATUS_BITSTREAM_ERROR && !has_memory_for(width, height))
    throw std::bad_alloc();
  if (status != VP8_STATUS_OK) throw_webp_error(status, data.size());
  return {config.output.u.RGBA.rgba, width, height, stride};
}

}  // namespace ffkit
