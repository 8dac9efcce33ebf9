#include <fmt/format.h>

#include <cstring>
#include <string>

#include <ffkit/image/image_codec.h>

#include "base/errors_only.h"
#include "base/make_error.h"

namespace ffkit {

void encode_ppm(const RgbView& pixels, std::vector<std::byte>& out) {
  if (pixels.width < 1 || pixels.height < 1) {
    throw error_of(ErrorCode::invalid_argument,
                   "a PPM cannot have {} x {} pixels; expected 1 or more each way", pixels.width,
                   pixels.height);
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
