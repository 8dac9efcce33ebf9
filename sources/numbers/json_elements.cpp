#include "numbers/json_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "converter/input/source_error.h"
#include "format/content_kind.h"

namespace ffkit {
namespace {

constexpr size_t kElementChunkBytes = 1 << 20;
constexpr size_t kMaxElementBytes = 64 << 20;

bool is_json_space(int c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

JsonElements::JsonElements(const InputFile& file) : file_(file) {}

std::span<const char> JsonElements::text() const {
  return {buffer_.data() + text_begin_, position_ - text_begin_};
}

FileRange JsonElements::range() const {
  return {base_ + static_cast<int64_t>(text_begin_), static_cast<int64_t>(position_ - text_begin_)};
}

JsonPart JsonElements::next() {
  is_keeping_ = false;
  if (!is_in_object_) {
    require_object();
    expect('{');
    is_in_object_ = is_first_ = true;
  }
  while (true) {
    const char closing = is_in_array_ ? ']' : '}';
    if (skip_space() == closing) {
      ++position_;
      is_first_ = false;
      if (is_in_array_) {
        is_in_array_ = false;
        continue;
      }
      if (skip_space() >= 0) fail_at("there is text behind the end of the object");
      return JsonPart::end;
    }
    if (!is_first_) {
      expect(',');
      skip_space();
    }
    is_first_ = false;
    if (is_in_array_) {
      keep_value();
      return JsonPart::element;
    }
    read_key();
    skip_space();
    expect(':');
    if (skip_space() == '[') {
      ++position_;
      is_in_array_ = is_first_ = true;
      return JsonPart::array;
    }
    keep_value();
    return JsonPart::value;
  }
}

void JsonElements::keep_value() {
  kept_ = position_;
  is_keeping_ = true;
  skip_value();
  text_begin_ = kept_;
}

// Says what the file is where it is no JSON object at all.
void JsonElements::require_object() {
  const int first = skip_space();
  const size_t num_bytes = std::min(end_, kContentHeadBytes);
  const ContentKind kind = content_kind(std::as_bytes(std::span(buffer_).first(num_bytes)));
  if (first == '{' || kind == ContentKind::empty) return;
  const auto refuse = [this](const std::string& what) {
    throw source_error(file_.path(), ErrorCode::corrupt, what);
  };
  if (kind == ContentKind::utf8_with_bom) {
    refuse(
        "begins with a byte order mark, which JSON and Python's json do not allow; save it as "
        "UTF-8 without one");
  }
  if (kind != ContentKind::unknown) {
    const std::string remedy = content_remedy(kind);
    refuse(
        fmt::format("is {}, no JSON{}{}", content_name(kind), remedy.empty() ? "" : "; ", remedy));
  }
  if (first == '[') {
    refuse(
        "is a JSON list, but annotations are an object with the lists 'images' and "
        "'annotations'; is it a file of results or detections?");
  }
}

void JsonElements::read_key() {
  if (peek() != '"') fail_at("a member's name in quotes is expected");
  kept_ = position_;
  is_keeping_ = true;
  skip_string();
  is_keeping_ = false;
  // Not a member: its size depends on a macro that tests are compiled without.
  simdjson::dom::parser parser;
  std::string_view key;
  if (parser.parse(buffer_.data() + kept_, position_ - kept_, false).get_string().get(key) !=
      simdjson::SUCCESS) {
    position_ = kept_;
    fail_at("a member's name is expected");
  }
  key_ = key;
}

int JsonElements::peek() {
  if (position_ == end_ && !refill()) return -1;
  return static_cast<unsigned char>(buffer_[position_]);
}

bool JsonElements::refill() {
  const int64_t num_left = file_.size() - base_ - static_cast<int64_t>(end_);
  if (num_left == 0) return false;
  const size_t first = is_keeping_ ? kept_ : position_;
  if (first < end_) std::memmove(buffer_.data(), buffer_.data() + first, end_ - first);
  base_ += static_cast<int64_t>(first);
  position_ -= first;
  end_ -= first;
  kept_ = 0;
  if (end_ > kMaxElementBytes) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("an element has more than {} MiB, which no annotation needs, and which would "
                    "be in memory as a whole; is a bracket or a quotation mark missing?",
                    kMaxElementBytes >> 20),
        {.path = file_.path().string(), .offset = base_});
  }
  const size_t num_bytes = static_cast<size_t>(std::min<int64_t>(num_left, kElementChunkBytes));
  const size_t needed = end_ + num_bytes + simdjson::SIMDJSON_PADDING;
  if (buffer_.size() < needed) buffer_.resize(needed);
  file_.read_at(base_ + static_cast<int64_t>(end_),
                std::as_writable_bytes(std::span(buffer_)).subspan(end_, num_bytes));
  end_ += num_bytes;
  return true;
}

int JsonElements::skip_space() {
  int c = peek();
  while (is_json_space(c)) {
    ++position_;
    c = peek();
  }
  return c;
}

void JsonElements::skip_string() {
  ++position_;
  for (int c = peek(); c >= 0; c = peek()) {
    ++position_;
    if (c == '"') return;
    if (c == '\\' && peek() >= 0) ++position_;
  }
  fail_at("a text in quotes does not end");
}

void JsonElements::skip_value() {
  int depth = 0;
  do {
    const int c = peek();
    if (c == '"') {
      skip_string();
    } else if (c == '{' || c == '[') {
      ++depth;
      ++position_;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
      ++position_;
    } else if (c >= 0 && depth > 0) {
      ++position_;
    } else {
      const size_t begin = position_;
      const int64_t base = base_;
      for (int d = c; d >= 0 && !is_json_space(d) && std::strchr(",:{}[]\"", d) == nullptr;
           d = peek()) {
        ++position_;
      }
      if (position_ == begin && base_ == base) fail_at("a value is expected");
    }
  } while (depth > 0);
}

void JsonElements::expect(char wanted) {
  if (peek() != wanted) fail_at(fmt::format("'{}' is expected", wanted));
  ++position_;
}

void JsonElements::fail_at(const std::string& what) const {
  const bool is_at_end = position_ == end_;
  const std::string found = is_at_end
                                ? "the file ends; download or copy it again"
                                : fmt::format("found '{}'", std::string(1, buffer_[position_]));
  throw Error(ErrorCode::corrupt,
              fmt::format("is not the JSON it should be: {}, but {}", what, found),
              {.path = file_.path().string(), .offset = base_ + static_cast<int64_t>(position_)});
}

}  // namespace ffkit
