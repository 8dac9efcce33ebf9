#include "sources/jsonl/line_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <ffkit/format/crc32c.h>

namespace ffkit {
namespace {

constexpr int64_t kLineChunkBytes = 4 << 20;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Length of UTF-8's byte-order mark, which some editors write first.
int64_t mark_bytes(const InputFile& file) {
  std::array<char, 3> first{};
  if (file.size() < 3) return 0;
  file.read_at(0, std::as_writable_bytes(std::span(first)));
  return std::memcmp(first.data(), "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

}  // namespace

LineIndex index_lines(const InputFile& file) {
  LineIndex index;
  std::vector<TextLine>& lines = index.lines;
  std::vector<char> chunk(static_cast<size_t>(std::min(kLineChunkBytes, file.size())));
  int64_t number = 1;
  bool is_listed = false;  // the present line is in `lines`
  for (int64_t base = mark_bytes(file); base < file.size();) {
    const auto length = static_cast<size_t>(std::min(kLineChunkBytes, file.size() - base));
    const auto bytes = std::as_writable_bytes(std::span(chunk)).first(length);
    file.read_at(base, bytes);
    index.crc32c = crc32c(bytes, index.crc32c);
    for (size_t i = 0; i < length;) {
      if (is_listed || chunk[i] == '\n') {
        const void* end = std::memchr(chunk.data() + i, '\n', length - i);
        if (end == nullptr) break;
        i = static_cast<size_t>(static_cast<const char*>(end) - chunk.data()) + 1;
        ++number;
        is_listed = false;
      } else {
        if (!is_space(chunk[i])) {
          lines.push_back({base + static_cast<int64_t>(i), number});
          is_listed = true;
        }
        ++i;
      }
    }
    base += static_cast<int64_t>(length);
  }
  return index;
}

}  // namespace ffkit
