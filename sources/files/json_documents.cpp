#include "files/json_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
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
        if (!is_blank(chunk[i])) {
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
              "the file is not valid JSON: it ends inside a document or an array; download or copy "
              "it again",
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
  throw Error(
      ErrorCode::corrupt,
      fmt::format("the file is not valid JSON: {} must follow here, but there is something else",
                  what),
      {.offset = offset});
}

JsonLayout json_layout_of(const TextFiles& files, size_t file, std::string_view head) {
  return json_layout(head.substr(mark_length(head)),
                     plain_name(files.paths()[file]).ends_with(".json"));
}

uint32_t scan_documents(const TextFiles& files, size_t file, JsonLayout layout, int64_t begin,
                        int64_t documents_begin,
                        const std::function<void(int64_t begin, int64_t end)>& on_document) {
  JsonDocuments documents(layout, on_document);
  const auto on_piece = [&](std::string_view piece, int64_t offset) {
    const auto skipped = static_cast<size_t>(std::max<int64_t>(documents_begin - offset, 0));
    documents.add(piece.substr(skipped), offset + static_cast<int64_t>(skipped));
  };
  try {
    const uint32_t crc = scan_pieces(files, file, begin, on_piece);
    documents.finish(files.num_bytes(file));
    return crc;
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw error.within({.path = files.paths()[file].string()});
  }
}

LineIndex index_lines(const TextFiles& files, size_t file) {
  LineIndex index;
  const std::string head = head_of(files, file);
  const auto mark = static_cast<int64_t>(mark_length(head));
  index.has_mark = mark > 0;
  index.layout = json_layout_of(files, file, head);
  if (index.layout == JsonLayout::lines) {
    LineFinder lines(index.lines);
    index.crc32c = scan_pieces(files, file, mark, [&](std::string_view piece, int64_t offset) {
      lines.add(piece, offset);
    });
    return index;
  }
  int64_t element = 0;
  index.crc32c = scan_documents(files, file, index.layout, mark, mark, [&](int64_t begin, int64_t) {
    index.lines.push_back({begin, element++});
  });
  return index;
}

std::string_view document_of(std::string_view text, JsonLayout layout) {
  const auto trim = [&text] {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
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
