#include "shard/stream_writer.h"

#include <algorithm>
#include <array>

#include <ffkit/base/crc32c.h>

namespace ffkit {

void StreamWriter::append(std::span<const std::byte> bytes) {
  payload_.insert(payload_.end(), bytes.begin(), bytes.end());
}

StreamInfo StreamWriter::write(FileSink& file, int64_t offset, uint32_t stream_number) const {
  StreamInfo info{.name = name_, .offset = offset, .num_bytes = num_bytes()};
  constexpr int64_t kPagesPerWrite = 256;
  std::vector<std::byte> buffer;
  for (int64_t page = 0; page < info.num_pages(); ++page) {
    const auto remaining = std::span(payload_).subspan(static_cast<size_t>(page * kPayloadBytes));
    const auto used = remaining.first(std::min<size_t>(remaining.size(), kPayloadBytes));
    std::array<std::byte, kPageBytes> bytes{};
    std::ranges::copy(used, bytes.begin());
    const uint32_t crc = seal_page(bytes, page, stream_number, static_cast<uint32_t>(used.size()));
    info.crc32c = crc32c(std::as_bytes(std::span(&crc, 1)), info.crc32c);
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    if ((page + 1) % kPagesPerWrite == 0 || page + 1 == info.num_pages()) {
      file.write(buffer);
      buffer.clear();
    }
  }
  return info;
}

}  // namespace ffkit
