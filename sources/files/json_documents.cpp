#include "files/json_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <ffkit/base/crc32c.h>
#include <ffkit/base/error.h>

namespace ffkit {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

JsonLayout json_layout(std::string_view head, bool may_be_values) {
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return JsonLayout::lines;
  if (head[begin] == '[') return JsonLayout::array;
  if (!may_be_values) return JsonLayout::lines;
  const size_t end = head.find('\n', begin);
  if (end == std::string_view::npos) return JsonLayout::lines;
  bool is_whole = false;
  try {
    JsonDocuments line(JsonLayout::values, [&](int64_t, int64_t) { is_whole = true; });
    line.add(head.substr(begin, end - begin), 0);
  } catch (const Error&) {
    return JsonLayout::lines;  // whose errors name the line
  }
  return is_whole ? JsonLayout::lines : JsonLayout::values;
}

JsonDocuments::JsonDocuments(JsonLayout layout, std::function<void(int64_t, int64_t)> on_document)
    : layout_(layout),
      on_document_(std::move(on_document)),
      expects_(layout == JsonLayout::array ? Expects::array : Expects::value) {}

void JsonDocuments::add(std::string_view text, int64_t offset) {
  for (const char c : text) {
    if (is_quoted_) {
      pass_quoted(c, offset);
    } else if (depth_ > 0) {
      pass_nested(c, offset);
    } else {
      between(c, offset);
    }
    ++offset;
  }
}

void JsonDocuments::finish(int64_t offset) {
  if (is_word_) end_document(offset);
  const bool is_whole = layout_ != JsonLayout::array || expects_ == Expects::nothing;
  if (!is_quoted_ && depth_ == 0 && is_whole) return;
  throw Error(ErrorCode::corrupt,
              "is not the JSON it should be: it ends within a document or an array; download or "
              "copy it again",
              {.offset = offset});
}

void JsonDocuments::pass_quoted(char c, int64_t offset) {
  if (is_escaped_) {
    is_escaped_ = false;
  } else if (c == '\\') {
    is_escaped_ = true;
  } else if (c == '"') {
    is_quoted_ = false;
    if (depth_ == 0) end_document(offset + 1);
  }
}

void JsonDocuments::pass_nested(char c, int64_t offset) {
  if (c == '"') {
    is_quoted_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && --depth_ == 0) {
    end_document(offset + 1);
  }
}

void JsonDocuments::between(char c, int64_t offset) {
  if (is_word_) {
    if (!is_blank(c) && c != ',' && c != ']' && c != '}') return;
    end_document(offset);
  }
  if (is_blank(c)) return;
  switch (expects_) {
    case Expects::array:
      if (c != '[') fail("an array", offset);
      expects_ = Expects::first;
      return;
    case Expects::first:
      if (c == ']') {
        expects_ = Expects::nothing;
        return;
      }
      return begin_document(c, offset);
    case Expects::comma:
      if (c != ',' && c != ']') fail("',' or ']'", offset);
      expects_ = c == ',' ? Expects::value : Expects::nothing;
      return;
    case Expects::nothing:
      fail("the end of the file", offset);
    case Expects::value:
      if (c == ',' && layout_ == JsonLayout::elements) return;
      return begin_document(c, offset);
  }
}

void JsonDocuments::begin_document(char c, int64_t offset) {
  if (c == ',' || c == ':' || c == ']' || c == '}') fail("a document", offset);
  begin_ = offset;
  if (c == '"') {
    is_quoted_ = true;
  } else if (c == '{' || c == '[') {
    depth_ = 1;
  } else {
    is_word_ = true;
  }
}

void JsonDocuments::end_document(int64_t end) {
  is_word_ = false;
  if (layout_ == JsonLayout::array) expects_ = Expects::comma;
  on_document_(begin_, end);
}

void JsonDocuments::fail(std::string_view what, int64_t offset) {
  throw Error(ErrorCode::corrupt,
              fmt::format("is not the JSON it should be: {} is expected, and something else is "
                          "there",
                          what),
              {.offset = offset});
}

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
