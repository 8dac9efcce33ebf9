#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/make_error.h"
#include "base/printable.h"
#include "transform_text/text_members.h"

namespace ffkit {
namespace {

constexpr int kMaxTextDepth = 40;
constexpr int64_t kMaxRangeNumbers = 10'000;  // of all ranges of a text
constexpr size_t kMaxQuotedBytes = 60;

constexpr bool is_text_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
constexpr bool is_text_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool begins_text_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) {}

  std::vector<TextValue> run() {
    std::vector<TextValue> values;
    while (!at_end()) {
      values.push_back(value(0));
      if (!accept(',') && !at_end()) fail("',' or the end of the text");
    }
    return values;
  }

 private:
  TextValue value(int depth) {
    skip_blanks();
    const size_t begin = at_;
    TextValue value = value_without_source(depth);
    value.source = text_.substr(begin, at_ - begin);
    return value;
  }

  TextValue value_without_source(int depth) {
    const char c = next();
    if (c == '(' || c == '[') return list(depth);
    if (c == '"' || c == '\'') return string();
    if (begins_text_name(c)) return word(depth);
    if (is_text_digit(c) || c == '.' || c == '-' || c == '+') return quotient();
    fail("a value");
  }

  // What follows a bracket may stand deeper by one.
  int deeper(int depth) const {
    if (depth < kMaxTextDepth) return depth + 1;
    throw error_of(ErrorCode::invalid_argument,
                   "the text {} is inside more than {} levels of brackets; use fewer levels",
                   quoted_text(text_.substr(at_)), kMaxTextDepth);
  }

  TextValue list(int depth) {
    const bool is_tuple = text_[at_] == '(';
    const char end = is_tuple ? ')' : ']';
    const int within = deeper(depth);
    ++at_;
    TextValue list{.kind = TextValue::Kind::list};
    bool has_comma = false;
    while (!accept(end)) {
      list.items.push_back(value(within));
      if (accept(',')) {
        has_comma = true;
      } else if (next() != end) {
        fail(is_tuple ? "',' or ')'" : "',' or ']'");
      }
    }
    // (3) is 3, and (3,) a tuple.
    if (is_tuple && !has_comma && list.items.size() == 1) {
      TextValue only = std::move(list.items.front());
      return only;
    }
    return list;
  }

  TextValue string() {
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    TextValue string{.kind = TextValue::Kind::string, .text = text_.substr(at_ + 1, end - at_ - 1)};
    at_ = end + 1;
    return string;
  }

  TextValue word(int depth) {
    const size_t begin = at_;
    const std::string_view name = take_name();
    if (name == "None") return {};
    if (name == "True" || name == "False") {
      return {.kind = TextValue::Kind::boolean, .boolean = name == "True"};
    }
    if (next() != '(') {
      throw error_of(ErrorCode::invalid_argument,
                     "{} needs brackets after it, as in {}(), or quotes around it",
                     quoted_text(name), printable(name.substr(0, kMaxQuotedBytes)));
    }
    TextValue call{.kind = TextValue::Kind::call, .text = name};
    const int within = deeper(depth);
    ++at_;
    while (!accept(')')) {
      call.names.push_back(take_name_of_argument());
      call.items.push_back(value(within));
      if (!accept(',') && next() != ')') fail("',' or ')'");
    }
    if (name == "range") return range(call, begin);
    return call;
  }

  // The name in front of '='; empty, and at the same place, without one.
  std::string_view take_name_of_argument() {
    skip_blanks();
    const size_t begin = at_;
    const std::string_view name = take_name();
    if (!name.empty() && accept('=')) return name;
    at_ = begin;
    return {};
  }

  std::string_view take_name() {
    const size_t begin = at_;
    if (at_ < text_.size() && begins_text_name(text_[at_])) ++at_;
    while (at_ > begin && at_ < text_.size() &&
           (begins_text_name(text_[at_]) || is_text_digit(text_[at_]))) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // A number, or one divided by another.
  TextValue quotient() {
    const size_t begin = at_;
    TextValue above = number();
    if (!accept('/')) return above;
    skip_blanks();
    const TextValue below = number();
    const double number = above.number / below.number;
    if (std::isfinite(number)) return {.kind = TextValue::Kind::number, .number = number};
    throw error_of(ErrorCode::invalid_argument, "{} is not a number",
                   quoted_text(text_.substr(begin, at_ - begin)));
  }

  TextValue number() {
    const size_t begin = at_;
    const bool has_sign = next() == '-' || next() == '+';
    if (has_sign) ++at_;
    bool is_whole = true;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const bool is_sign_of_exponent =
          (c == '-' || c == '+') && at_ > begin && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!is_text_digit(c) && c != '.' && !begins_text_name(c) && !is_sign_of_exponent) break;
      is_whole = is_whole && is_text_digit(c);
    }
    const std::string_view written = text_.substr(begin, at_ - begin);
    const std::string_view digits = written.substr(written.starts_with('+') ? 1 : 0);
    const char* const last = digits.data() + digits.size();
    TextValue value{.kind = is_whole ? TextValue::Kind::integer : TextValue::Kind::number};
    // "inf" and "nan" are names, and come here behind a sign alone.
    const bool is_number = digits.find_first_of("0123456789") != std::string_view::npos;
    const auto [end, error] = is_whole ? std::from_chars(digits.data(), last, value.integer)
                                       : std::from_chars(digits.data(), last, value.number);
    if (!is_number || error != std::errc{} || end != last) {
      const bool is_large = is_number && error == std::errc::result_out_of_range;
      throw error_of(ErrorCode::invalid_argument, "{} is {}", quoted_text(written),
                     is_large ? "too large or too small" : "not a number");
    }
    if (is_whole) value.number = static_cast<double>(value.integer);
    return value;
  }

  // The numbers of a call of range().
  TextValue range(const TextValue& call, size_t begin) {
    constexpr int64_t kMost = int64_t{1} << 40;
    int64_t from = 0;
    int64_t to = 0;
    int64_t step = 1;
    bool is_right = !call.items.empty() && call.items.size() <= 3;
    for (size_t i = 0; i < call.items.size(); ++i) {
      const TextValue& item = call.items[i];
      is_right = is_right && call.names[i].empty() && item.kind == TextValue::Kind::integer &&
                 item.integer >= -kMost && item.integer <= kMost;
    }
    if (is_right) {
      const std::vector<TextValue>& items = call.items;
      from = items.size() == 1 ? 0 : items[0].integer;
      to = items[items.size() == 1 ? 0 : 1].integer;
      step = items.size() == 3 ? items[2].integer : 1;
      is_right = step != 0 && (to - from) / step < kMaxRangeNumbers - num_range_numbers_;
    }
    if (!is_right) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is not a range; expected range(LAST), range(FIRST, LAST) or range(FIRST, "
                     "LAST, STEP), up to {} whole numbers",
                     quoted_text(text_.substr(begin, at_ - begin)), kMaxRangeNumbers);
    }
    TextValue list{.kind = TextValue::Kind::list};
    num_range_numbers_ += std::max<int64_t>((to - from) / step, 0) + 1;
    for (int64_t number = from; step > 0 ? number < to : number > to; number += step) {
      list.items.push_back({.kind = TextValue::Kind::integer,
                            .integer = number,
                            .number = static_cast<double>(number),
                            .source = text_.substr(begin, at_ - begin)});
    }
    return list;
  }

  // The next character that is no blank; 0 at the end.
  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool accept(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_text_blank(text_[at_])) ++at_;
  }

  [[noreturn]] void fail(const std::string& expected) const {
    const std::string_view rest = text_.substr(at_);
    const std::string place = rest.empty() ? fmt::format("at the end of {}", quoted_text(text_))
                                           : fmt::format("before {}", quoted_text(rest));
    throw error_of(ErrorCode::invalid_argument, "expected {} {}", expected, place);
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t num_range_numbers_ = 0;
};

}  // namespace

std::vector<TextValue> parse_text_values(std::string_view text) {
  return TextParser(text).run();
}

std::string quoted_text(std::string_view part) {
  const bool is_long = part.size() > kMaxQuotedBytes;
  const bool has_quotes = part.size() > 1 && (part.front() == '"' || part.front() == '\'') &&
                          part.find(part.front(), 1) == part.size() - 1;
  if (has_quotes && !is_long) return printable(part);
  return fmt::format("'{}{}'", printable(part.substr(0, kMaxQuotedBytes)), is_long ? "..." : "");
}

}  // namespace ffkit
