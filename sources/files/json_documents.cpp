#include "files/json_documents.h"

#include <fmt/format.h>

#include <utility>

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

}  // namespace ffkit
