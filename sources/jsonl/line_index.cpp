#include "jsonl/line_index.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>

namespace ffkit {
namespace {

constexpr int64_t kLineChunkBytes = 4 << 20;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

constexpr std::string_view kMark = "\xEF\xBB\xBF";

// The beginning of the file.
std::string head_of_lines(const TextFiles& files, size_t file) {
  constexpr int64_t kHeadBytes = 64 << 10;
  std::string head(static_cast<size_t>(std::min(kHeadBytes, files.num_bytes(file))), '\0');
  files.read_at(file, 0, std::as_writable_bytes(std::span(head)));
  return head;
}

class LineFinder {
 public:
  explicit LineFinder(std::vector<TextLine>& lines) : lines_(lines) {}

  void add(std::string_view chunk, int64_t base) {
    for (size_t i = 0; i < chunk.size();) {
      if (is_listed_ || chunk[i] == '\n') {
        const void* end = std::memchr(chunk.data() + i, '\n', chunk.size() - i);
        if (end == nullptr) break;
        i = static_cast<size_t>(static_cast<const char*>(end) - chunk.data()) + 1;
        ++number_;
        is_listed_ = false;
      } else {
        if (!is_space(chunk[i])) {
          lines_.push_back({base + static_cast<int64_t>(i), number_});
          is_listed_ = true;
        }
        ++i;
      }
    }
  }

 private:
  std::vector<TextLine>& lines_;
  int64_t number_ = 1;
  bool is_listed_ = false;  // the present line is in `lines_`
};

}  // namespace

LineIndex index_lines(const TextFiles& files, size_t file) {
  LineIndex index;
  const std::string head = head_of_lines(files, file);
  index.has_mark = head.starts_with(kMark);
  const size_t mark = index.has_mark ? kMark.size() : 0;
  const bool is_called_json = plain_name(files.paths()[file]).ends_with(".json");
  index.layout = json_layout(std::string_view(head).substr(mark), is_called_json);
  LineFinder lines(index.lines);
  int64_t element = 0;
  JsonDocuments elements(index.layout, [&](int64_t begin, int64_t) {
    index.lines.push_back({begin, element++});
  });
  const int64_t size = files.num_bytes(file);
  std::vector<char> chunk(static_cast<size_t>(std::min(kLineChunkBytes, size)));
  try {
    for (auto base = static_cast<int64_t>(mark); base < size;) {
      const auto length = static_cast<size_t>(std::min(kLineChunkBytes, size - base));
      const auto bytes = std::as_writable_bytes(std::span(chunk)).first(length);
      files.read_at(file, base, bytes);
      index.crc32c = crc32c(bytes, index.crc32c);
      const std::string_view text(chunk.data(), length);
      if (index.layout == JsonLayout::lines) {
        lines.add(text, base);
      } else {
        elements.add(text, base);
      }
      base += static_cast<int64_t>(length);
    }
    if (index.layout != JsonLayout::lines) elements.finish(size);
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw error.within({.path = files.paths()[file].string()});
  }
  return index;
}

std::string_view document_of(std::string_view text, JsonLayout layout) {
  const auto trim = [&text] {
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  };
  trim();
  // The comma behind it, or the end of the array.
  if (layout == JsonLayout::array && !text.empty()) {
    text.remove_suffix(1);
    trim();
  }
  return text;
}

}  // namespace ffkit
