#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include <ffkit/format/filter.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

using Op = FilterCondition::Op;

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
// What ends a word.
constexpr bool is_special(char c) {
  return is_blank(c) || std::string_view("{},=!<>\"'").find(c) != std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Filter run() {
    Filter filter;
    do {
      filter.conditions.push_back(condition());
    } while (accept_word("and"));
    if (at_ < text_.size()) fail("'and' or the end");
    return filter;
  }

 private:
  FilterCondition condition() {
    FilterCondition condition;
    condition.field = word("the name of a field");
    if (accept_word("in")) {
      condition.op = Op::in;
    } else if (accept_word("not")) {
      if (!accept_word("in")) fail("'in'");
      condition.op = Op::not_in;
    } else {
      condition.op = comparison();
      const std::string single = value();
      condition.values.push_back({single, single});
      return condition;
    }
    expect('{');
    do {
      condition.values.push_back(range());
    } while (accept(','));
    expect('}');
    return condition;
  }

  Op comparison() {
    constexpr std::array<std::pair<std::string_view, Op>, 7> kOps = {{{"==", Op::equal},
                                                                      {"!=", Op::not_equal},
                                                                      {"<=", Op::less_equal},
                                                                      {">=", Op::greater_equal},
                                                                      {"<", Op::less},
                                                                      {">", Op::greater},
                                                                      {"=", Op::equal}}};
    skip_blanks();
    for (const auto& [name, op] : kOps) {
      if (text_.substr(at_).starts_with(name)) {
        at_ += name.size();
        return op;
      }
    }
    fail("'in', 'not in' or one of == != < <= > >=");
  }

  FilterCondition::Range range() {
    skip_blanks();
    const bool is_quoted = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
    const std::string first = value();
    const size_t dots = is_quoted ? std::string::npos : first.find("..");
    if (dots == std::string::npos) return {first, first};
    FilterCondition::Range parsed{first.substr(0, dots), first.substr(dots + 2)};
    if (parsed.first.empty() || parsed.last.empty()) fail("a range FIRST..LAST with both ends");
    return parsed;
  }

  std::string value() {
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string_view::npos) fail("a closing quote");
      const std::string_view quoted = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return std::string(quoted);
    }
    return word("a value");
  }

  std::string word(const char* what) {
    skip_blanks();
    const size_t begin = at_;
    while (at_ < text_.size() && !is_special(text_[at_])) ++at_;
    if (at_ == begin) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool accept_word(std::string_view wanted) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(wanted)) return false;
    if (rest.size() > wanted.size() && !is_special(rest[wanted.size()])) return false;
    at_ += wanted.size();
    return true;
  }
  bool accept(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}'", wanted).c_str());
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  [[noreturn]] void fail(const char* expected) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    throw error_of(ErrorCode::invalid_argument,
                   "the filter '{}' lacks {} {}; an example: label in {{1, 5..9}} and id != 'x'",
                   text_, expected, rest.empty() ? "at its end" : fmt::format("before '{}'", rest));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Filter parse_filter(std::string_view text) {
  return Parser(text).run();
}

std::vector<int64_t> read_index_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::not_found, "cannot open the index file",
                {.path = path.string(), .errno_value = errno});
  }
  std::vector<int64_t> indices;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    std::string_view rest = std::string_view(line).substr(0, line.find('#'));
    for (;;) {
      const auto begin =
          std::ranges::find_if(rest, [](char c) { return !is_blank(c) && c != ','; });
      rest.remove_prefix(static_cast<size_t>(begin - rest.begin()));
      if (rest.empty()) break;
      int64_t index = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      const auto used = static_cast<size_t>(end - rest.data());
      const bool ends_well = used == rest.size() || is_blank(rest[used]) || rest[used] == ',';
      if (error != std::errc{} || !ends_well || index < 0) {
        throw error_at(path, ErrorCode::invalid_argument,
                       "line {}: '{}' is not a record number (0 or more)", number, rest);
      }
      indices.push_back(index);
      rest.remove_prefix(used);
    }
  }
  if (file.bad()) throw error_at(path, ErrorCode::io, "cannot read");
  return indices;
}

}  // namespace ffkit
