#include "codec/ppm_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <ffkit/format/error.h>

#include "format/errors_only.h"

namespace ffkit {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

struct PpmHeader {
  ImageInfo info;
  size_t num_bytes = 0;  // of the header; then come the pixels
};

// Reads the numbers behind the two letters.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> data)
      : text_(reinterpret_cast<const char*>(data.data()), data.size()) {}

  int number(const char* what) {
    skip_space();
    const size_t begin = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= INT32_MAX) {
      value = 10 * value + (text_[at_++] - '0');
    }
    if (at_ == begin || value < 1 || value > INT32_MAX) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("broken PPM: its header gives no {}; get the file again", what));
    }
    return static_cast<int>(value);
  }

  // Where the pixels begin: behind one white space.
  size_t end() const {
    if (at_ == text_.size() || !is_space(text_[at_])) {
      throw Error(ErrorCode::corrupt, "broken PPM: its header has no end; get the file again");
    }
    return at_ + 1;
  }

 private:
  void skip_space() {
    for (bool is_comment = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') is_comment = true;
      if (c == '\n') is_comment = false;
      if (!is_comment && !is_space(c)) return;
    }
  }

  std::string_view text_;
  size_t at_ = 2;
};

PpmHeader read_ppm_header(std::span<const std::byte> data) {
  HeaderReader reader(data);
  const bool is_grey = data[1] == std::byte{'5'};
  PpmHeader header;
  header.info.encoding = ImageEncoding::ppm;
  header.info.num_components = is_grey ? 1 : 3;
  header.info.width = reader.number("width");
  header.info.height = reader.number("height");
  const int max_value = reader.number("largest value");
  if (max_value != 255) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("the values of the PPM go up to {}; expected 255: convert it", max_value));
  }
  header.num_bytes = reader.end();
  return header;
}

}  // namespace

bool is_ppm(std::span<const std::byte> data) {
  if (data.size() < 3 || data[0] != std::byte{'P'}) return false;
  if (data[1] != std::byte{'5'} && data[1] != std::byte{'6'}) return false;
  const char next = std::to_integer<char>(data[2]);
  return is_space(next) || next == '#';
}

ImageInfo read_ppm_info(std::span<const std::byte> data) {
  const PpmHeader header = read_ppm_header(data);
  const ImageInfo& info = header.info;
  const int64_t row_bytes = int64_t{info.width} * info.num_components;
  if (static_cast<int64_t>(data.size() - header.num_bytes) / row_bytes < info.height) {
    throw Error(ErrorCode::corrupt,
                fmt::format("truncated PPM: {} bytes behind its header are too few for {} x {} "
                            "pixels; get the file again",
                            data.size() - header.num_bytes, info.width, info.height));
  }
  return info;
}

RgbView PpmDecoder::decode(std::span<const std::byte> data, const Rect& region) {
  const auto [info, header_bytes] = read_ppm_header(data);
  const size_t components = static_cast<size_t>(info.num_components);
  const size_t in_stride = static_cast<size_t>(info.width) * components;
  const auto width = static_cast<size_t>(region.width);
  const auto height = static_cast<size_t>(region.height);
  const size_t out_stride = 3 * width;
  uint8_t* const pixels = pixels_.reserve(out_stride * height);
  const auto* in = reinterpret_cast<const uint8_t*>(data.data()) + header_bytes +
                   static_cast<size_t>(region.y) * in_stride +
                   static_cast<size_t>(region.x) * components;
  uint8_t* out = pixels;
  if (components == 3 && in_stride == out_stride) {
    std::memcpy(out, in, out_stride * height);
  } else {
    for (size_t y = 0; y < height; ++y, in += in_stride, out += out_stride) {
      if (components == 3) {
        std::memcpy(out, in, out_stride);
        continue;
      }
      for (size_t x = 0; x < width; ++x) std::fill_n(out + 3 * x, 3, in[x]);
    }
  }
  return {pixels, region.width, region.height, static_cast<ptrdiff_t>(out_stride)};
}

void encode_ppm(const RgbView& pixels, std::vector<std::byte>& out) {
  if (pixels.width < 1 || pixels.height < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a PPM cannot have {} x {} pixels; expected 1 or more each way",
                            pixels.width, pixels.height));
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

}  // namespace ffkit
