#include "numbers/json_members.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

constexpr size_t kMaxMemberDepth = 1000;  // about Python's limit of recursion; simdjson's is 1,024
constexpr size_t kMaxToldBytes = 40;

bool is_number_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_character(std::string& text, uint32_t code) {
  const auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

class MemberReader {
 public:
  explicit MemberReader(std::string_view text) : text_(text) {}

  std::vector<JsonMember> read() {
    skip_space();
    if (peek() != '{') {
      skip_value();
      require_end();
      throw Error(ErrorCode::invalid_argument, "is not a JSON object, {...}");
    }
    ++at_;
    std::vector<JsonMember> members;
    if (skip_space() == '}') {
      ++at_;
    } else {
      do {
        JsonMember member;
        skip_space();
        member.key = read_key();
        skip_space();
        expect(':');
        skip_space();
        problem_.clear();
        const size_t begin = at_;
        skip_value();
        member.value = text_.substr(begin, at_ - begin);
        member.problem = problem_;
        members.push_back(std::move(member));
      } while (goes_on('}'));
    }
    require_end();
    return members;
  }

 private:
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }

  int skip_space() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return peek();
  }

  [[noreturn]] void fail(std::string_view wanted) const {
    const std::string found = at_ < text_.size()
                                  ? fmt::format("found '{}'", printable(text_.substr(at_, 1)))
                                  : "the text ends";
    throw error_of(ErrorCode::corrupt, "the text is not valid JSON: expected {} at byte {}, but {}",
                   wanted, at_ + 1, found);
  }

  void expect(char wanted) {
    if (peek() != wanted) fail(fmt::format("'{}'", wanted));
    ++at_;
  }

  // Behind a value: whether another one follows before `closing`, which is passed.
  bool goes_on(char closing) {
    const int c = skip_space();
    if (c != ',' && c != closing) fail(fmt::format("',' or '{}'", closing));
    ++at_;
    return c == ',';
  }

  void require_end() {
    if (skip_space() >= 0) fail("the end");
  }

  // Of the first one alone: it is what a message names.
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  // `open` holds the closing brackets of the arrays and objects around the value.
  void skip_value() {
    std::string open;
    bool is_value_next = true;
    do {
      if (is_value_next) {
        if (!open.empty() && open.back() == '}') pass_key();
        is_value_next = pass_begin(open);
      } else if (const char closing = open.back(); goes_on(closing)) {
        is_value_next = true;
      } else {
        open.pop_back();
      }
      if (open.size() > kMaxMemberDepth) {
        throw error_of(
            ErrorCode::corrupt,
            "has more than {} levels of nested brackets, which is more than ffkit can read",
            kMaxMemberDepth);
      }
    } while (!open.empty());
  }

  void pass_key() {
    skip_space();
    pass_string(nullptr);
    skip_space();
    expect(':');
  }

  // A value's begin: a bracket, or all of what is no array and no object. Whether a value, or a
  // member, follows within it.
  bool pass_begin(std::string& open) {
    const int c = skip_space();
    if (c != '{' && c != '[') {
      pass_scalar(c, open.empty());
      return false;
    }
    ++at_;
    const char closing = c == '{' ? '}' : ']';
    if (skip_space() == closing) {
      ++at_;
      return false;
    }
    open += closing;
    return true;
  }

  void pass_scalar(int c, bool is_whole) {
    const char* verb = is_whole ? "is" : "holds";
    for (const std::string_view word : {"true", "false", "null"}) {
      if (pass_word(word)) return;
    }
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (pass_word(word))
        return note(fmt::format("{} {}, which is not a number in JSON", verb, word));
    }
    if (c == '"') return pass_string(nullptr);
    if (c != '-' && !is_number_digit(static_cast<char>(c))) fail("a value");
    pass_number(verb);
  }

  bool pass_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void pass_digits() {
    if (!is_number_digit(static_cast<char>(peek()))) fail("a digit");
    while (is_number_digit(static_cast<char>(peek()))) ++at_;
  }

  void pass_number(const char* verb) {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      pass_digits();
    }
    bool is_whole = true;
    if (peek() == '.') {
      is_whole = false;
      ++at_;
      pass_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      is_whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      pass_digits();
    }
    const std::string_view number = text_.substr(begin, at_ - begin);
    const char* const end = number.data() + number.size();
    const std::string told = number.size() > kMaxToldBytes
                                 ? std::string(number.substr(0, kMaxToldBytes)) + "..."
                                 : std::string(number);
    if (is_whole) {
      int64_t integer = 0;
      uint64_t natural = 0;
      if (std::from_chars(number.data(), end, integer).ec != std::errc{} &&
          std::from_chars(number.data(), end, natural).ec != std::errc{}) {
        note(fmt::format("{} {}, which does not fit into 64 bits", verb, told));
      }
    } else {
      // Not from_chars(), which does not tell too large from too small; the latter is 0.
      if (std::isinf(std::strtod(std::string(number).c_str(), nullptr))) {
        note(fmt::format("{} {}, which is outside the range of f64", verb, told));
      }
    }
  }

  std::string read_key() {
    std::string key;
    pass_string(&key);
    return key;
  }

  // Unescaped to `out`, unless that is null.
  void pass_string(std::string* out) {
    if (peek() != '"') fail("a name in quotation marks");
    const size_t begin = ++at_;
    while (true) {
      const int c = peek();
      if (c < 0) fail("a quotation mark");
      if (c < 0x20) fail("no control character");
      if (c == '"') break;
      if (c == '\\') {
        pass_escape(out);
      } else {
        if (out != nullptr) *out += static_cast<char>(c);
        ++at_;
      }
    }
    const std::string_view raw = text_.substr(begin, at_ - begin);
    if (!simdjson::validate_utf8(raw.data(), raw.size())) note("has bytes that are not UTF-8 text");
    ++at_;
  }

  void pass_escape(std::string* out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    ++at_;
    if (peek() == 'u') {
      uint32_t code = pass_unit();
      if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
        const size_t behind = at_++;
        const uint32_t low = pass_unit();
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else {
          at_ = behind;
        }
      }
      if (code >= 0xD800 && code < 0xE000) {
        note(fmt::format("has only one half of a surrogate pair, \\u{:04x}", code));
        code = 0xFFFD;
      }
      if (out != nullptr) append_character(*out, code);
      return;
    }
    const size_t name = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (name == std::string_view::npos) fail("a valid escape sequence");
    if (out != nullptr) *out += kValues[name];
    ++at_;
  }

  // At the "u" of "\u00fc".
  uint32_t pass_unit() {
    ++at_;
    const std::string_view digits = text_.substr(at_, 4);
    const char* const end = digits.data() + digits.size();
    uint32_t code = 0;
    if (digits.size() < 4 || digits[0] == '-' ||
        std::from_chars(digits.data(), end, code, 16).ptr != end) {
      fail("four hexadecimal digits");
    }
    at_ += 4;
    return code;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string problem_;  // of the present member
};

}  // namespace

std::vector<JsonMember> json_members(std::string_view text) {
  return MemberReader(text).read();
}

}  // namespace ffkit
