#include "numbers/json_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/make_error.h"
#include "numbers/json_elements.h"
#include "numbers/json_numbers.h"

namespace ffkit {
namespace {

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
      return "true or false";
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
      notes.push_back(fmt::format("{}: '{}' is there {} times; the last one counts",
                                  file_.path().string(), name, count));
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
      throw Error(ErrorCode::corrupt, fmt::format("is no JSON: {}", simdjson::error_message(error)),
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
              fmt::format("'{}' is {}, but must be a list of objects, as for pycocotools{}",
                          elements_.key(), json_type_name(value),
                          value.is_object() ? "; write the object's values as a list" : ""),
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
        throw error_of(ErrorCode::invalid_argument, "is {}, no object", json_type_name(value));
      }
      table_->add(object, elements_.range());
    } catch (const Error& error) {
      dom::element id;
      if (value.is_object() && find_member(object, "id", id) && (id.is_int64() || id.is_string())) {
        who = fmt::format("{} {}", table_->noun, json_excerpt(id));
      }
      refuse_member(error.with_message(fmt::format("{} {}", who, error.message()))
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

}  // namespace ffkit
