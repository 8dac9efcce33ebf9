#include "numbers/json_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "converter/input/source_error.h"
#include "format/content_kind.h"
#include "numbers/json_numbers.h"

namespace ffkit {
namespace {

constexpr size_t kElementChunkBytes = 1 << 20;
constexpr size_t kMaxElementBytes = 64 << 20;

bool is_json_space(int c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

namespace dom = simdjson::dom;

const char* json_type_name(dom::element value) {
  switch (value.type()) {
    case dom::element_type::ARRAY:
      return "a list";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a text";
    case dom::element_type::BOOL:
      return "a boolean";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

class TableReader {
 public:
  TableReader(const InputFile& file, std::span<const JsonTable> tables)
      : file_(file), tables_(tables), elements_(file) {}

  void read(std::vector<std::string>& notes) {
    for (JsonPart part = elements_.next(); part != JsonPart::end; part = elements_.next()) {
      switch (part) {
        case JsonPart::array:
          begin_member();
          break;
        case JsonPart::element:
          read_element();
          break;
        default:
          begin_member();
          read_value();
      }
    }
    // Only of the last one of a name, as in Python.
    for (const auto& [name, error] : wrong_) throw error;
    for (const auto& [name, count] : count_) {
      if (count < 2) continue;
      add_note(notes, file_.path().string(), "'{}' appears {} times; ffkit uses the last one", name,
               count);
    }
  }

 private:
  void begin_member() {
    const auto found = std::ranges::find(tables_, elements_.key(), &JsonTable::name);
    table_ = found == tables_.end() ? nullptr : &*found;
    index_ = 0;
    if (table_ == nullptr) return;
    ++count_[elements_.key()];
    wrong_.erase(elements_.key());
    table_->begin();
  }

  dom::element parse() {
    dom::element value;
    const auto error = parse_as_python(parser_, elements_.text(), value);
    if (error != simdjson::SUCCESS) {
      throw Error(
          ErrorCode::corrupt,
          fmt::format("the file is not valid JSON: {}",
                      json_problem({elements_.text().data(), elements_.text().size()}, error)),
          {.path = file_.path().string(), .offset = elements_.range().offset});
    }
    return value;
  }

  void read_value() {
    const dom::element value = parse();
    if (table_ == nullptr) return;
    // Python walks over an empty object as over an empty list.
    dom::object object;
    if (value.get_object().get(object) == simdjson::SUCCESS && object.begin() == object.end())
      return;
    refuse_member(
        Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is {}, but pycocotools needs a list of objects{}", elements_.key(),
                          json_type_name(value),
                          value.is_object() ? "; write the values of the object as a list" : ""),
              {.path = file_.path().string()}));
  }

  void read_element() {
    const dom::element value = parse();
    const size_t index = index_++;
    if (table_ == nullptr) return;
    dom::object object;
    std::string who = fmt::format("{}[{}]", table_->name, index);
    try {
      if (value.get_object().get(object) != simdjson::SUCCESS) {
        throw error_of(ErrorCode::invalid_argument, "is {}, not an object", json_type_name(value));
      }
      table_->add(object, elements_.range());
    } catch (const Error& error) {
      dom::element id;
      if (value.is_object() && find_member(object, "id", id) && (id.is_int64() || id.is_string())) {
        who = fmt::format("{} {}", table_->noun, json_excerpt(id));
      }
      const std::string number =
          number_beyond_json({elements_.text().data(), elements_.text().size()});
      refuse_member(error
                        .with_message(fmt::format("{} {}{}", who, error.message(),
                                                  number.empty() ? "" : ": " + number))
                        .within({.path = file_.path().string()}));
    }
  }

  // Passes over the rest of the member: another one of its name may follow, which counts.
  void refuse_member(const Error& error) {
    wrong_.emplace(elements_.key(), error);
    table_ = nullptr;
  }

  const InputFile& file_;
  const std::span<const JsonTable> tables_;
  JsonElements elements_;
  dom::parser parser_;
  const JsonTable* table_ = nullptr;  // of the member that is read
  size_t index_ = 0;                  // of the next element in it
  std::map<std::string, Error> wrong_;
  std::map<std::string, int64_t> count_;
};

// Copies strict JSON for what Python writes.
class Mender {
 public:
  explicit Mender(std::string_view text) : text_(text) {}

  std::string mended() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        copy_string();
      } else if (c == '-' || c == 'N' || c == 'I' || (c >= '0' && c <= '9')) {
        copy_number();
      } else {
        out_ += c;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  void copy_string() {
    out_ += text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        copy_escape();
        continue;
      }
      out_ += c;
      ++at_;
      if (c == '"') return;
    }
  }

  // The UTF-16 unit of the escape \uXXXX at `at`, or -1.
  int unit_at(size_t at) const {
    if (at + 6 > text_.size() || text_[at] != '\\' || text_[at + 1] != 'u') return -1;
    const std::string digits(text_.substr(at + 2, 4));
    if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return -1;
    return static_cast<int>(std::strtol(digits.c_str(), nullptr, 16));
  }

  void copy_escape() {
    const int unit = unit_at(at_);
    const bool is_high = unit >= 0xD800 && unit < 0xDC00;
    const bool is_low = unit >= 0xDC00 && unit < 0xE000;
    const int next = is_high ? unit_at(at_ + 6) : -1;
    const bool is_pair = next >= 0xDC00 && next < 0xE000;
    if (is_low || (is_high && !is_pair)) {
      out_ += "\\ufffd";
      at_ += 6;
      return;
    }
    const size_t length = unit < 0 ? 2 : is_pair ? 12 : 6;
    out_ += text_.substr(at_, length);
    at_ += std::min(length, text_.size() - at_);
  }

  void copy_number() {
    for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
      if (!text_.substr(at_).starts_with(name)) continue;
      out_ += "null";
      at_ += name.size();
      return;
    }
    const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_ + 1), text_.size());
    const std::string number(text_.substr(at_, end - at_));
    const bool is_integer = number.find_first_of(".eE", 1) == std::string::npos;
    constexpr size_t kDigitsOf64Bits = 19;
    if (std::isinf(std::strtod(number.c_str(), nullptr))) {
      out_ += "null";
    } else {
      out_ += number;
      if (is_integer && number.size() > kDigitsOf64Bits) out_ += "e0";
    }
    at_ = end;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string out_;
};

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
      if (skip_space() >= 0) fail_at("the end of the file");
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
  const ContentKind kind = content_kind(std::as_bytes(std::span(buffer_).first(end_)));
  if (first == '{' || kind == ContentKind::empty) return;
  const auto refuse = [this](const std::string& what) {
    throw source_error(file_.path(), ErrorCode::corrupt, what);
  };
  if (kind == ContentKind::utf8_with_bom) {
    refuse(
        "the file begins with a byte order mark, but JSON does not allow this mark; save the file "
        "as UTF-8 without a byte order mark");
  }
  if (kind != ContentKind::unknown) {
    const std::string remedy = content_remedy(kind);
    refuse(fmt::format("the file is {}, not JSON{}{}", content_name(kind),
                       remedy.empty() ? "" : "; ", remedy));
  }
  if (first == '[') {
    refuse(
        "the file is a JSON list, so it may be a file of results or detections; give a file of "
        "annotations, which is a JSON object with the lists 'images' and 'annotations'");
  }
}

void JsonElements::read_key() {
  if (peek() != '"') fail_at("a member name in quotes");
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
    fail_at("a valid member name");
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
        fmt::format("an element of the JSON file has more than {} MiB, much more than an "
                    "annotation needs; check whether a bracket or a quotation mark is missing",
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
  fail_at("the closing quotation mark of a text");
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
      if (position_ == begin && base_ == base) fail_at("a value");
    }
  } while (depth > 0);
}

void JsonElements::expect(char wanted) {
  if (peek() != wanted) fail_at(fmt::format("'{}'", wanted));
  ++position_;
}

void JsonElements::fail_at(const std::string& what) const {
  const bool is_at_end = position_ == end_;
  const std::string found = is_at_end
                                ? "the file ends; download or copy it again"
                                : fmt::format("found '{}'", std::string(1, buffer_[position_]));
  throw Error(ErrorCode::corrupt,
              fmt::format("the file is not valid JSON: expected {}, but {}", what, found),
              {.path = file_.path().string(), .offset = base_ + static_cast<int64_t>(position_)});
}

bool find_member(const dom::object& object, std::string_view key, dom::element& value) {
  bool is_there = false;
  for (const auto& [name, member] : object) {
    if (name != key) continue;
    value = member;
    is_there = true;
  }
  return is_there && !value.is_null();
}

void read_json_tables(const InputFile& file, std::span<const JsonTable> tables,
                      std::vector<std::string>& notes) {
  TableReader(file, tables).read(notes);
}

simdjson::error_code parse_as_python(dom::parser& parser, std::span<const char> text,
                                     dom::element& value) {
  const auto error = parser.parse(text.data(), text.size(), false).get(value);
  if (error == simdjson::SUCCESS) return error;
  const std::string mended = strict_json({text.data(), text.size()});
  // The parser copies the text that it keeps.
  return parser.parse(mended).get(value) == simdjson::SUCCESS ? simdjson::SUCCESS : error;
}

std::string strict_json(std::string_view text) {
  return Mender(text).mended();
}

std::string number_beyond_json(std::string_view text) {
  std::string_view key;  // the last text in front of a colon
  std::string_view last;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const size_t begin = at + 1;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
      last = text.substr(std::min(begin, text.size()), at - begin);
    } else if (c == ':') {
      key = last;
    } else {
      for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
        if (!text.substr(at).starts_with(name)) continue;
        return fmt::format("{} is {} at byte {} of the row, but JSON has no such number",
                           key.empty() ? "a value" : fmt::format("'{:.60}'", key), name, at);
      }
    }
  }
  return {};
}

std::string json_problem(std::string_view text, simdjson::error_code error) {
  const std::string number = number_beyond_json(text);
  return number.empty() ? simdjson::error_message(error) : number;
}

}  // namespace ffkit
