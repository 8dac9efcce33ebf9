#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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
constexpr bool is_bracket(char c) {
  return c == '(' || c == ')';
}

constexpr int kMaxDepth = 100;  // of brackets and "not"

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Filter run() {
    Filter filter = one_of();
    if (at_ < text_.size()) fail("'and', 'or' or the end");
    return filter;
  }

 private:
  // A part that is one condition becomes a condition.
  static void add(Filter& filter, Filter part) {
    if (part.parts.empty() && part.conditions.size() == 1 && !part.is_negated) {
      filter.conditions.push_back(std::move(part.conditions.front()));
    } else {
      filter.parts.push_back(std::move(part));
    }
  }

  template <typename Part>
  Filter joined(std::string_view by, const Part& part) {
    Filter first = part();
    if (!accept_word(by)) return first;
    Filter filter{.is_any = by == "or"};
    add(filter, std::move(first));
    do {
      add(filter, part());
    } while (accept_word(by));
    return filter;
  }
  Filter one_of() {
    return joined("or", [this] { return all_of(); });
  }
  Filter all_of() {
    return joined("and", [this] { return part(); });
  }

  Filter part() {
    if (++depth_ > kMaxDepth) {
      throw error_of(ErrorCode::invalid_argument,
                     "the filter has more than {} brackets or 'not' inside each other", kMaxDepth);
    }
    Filter filter;
    if (accept_word("not")) {
      filter = part();
      filter.is_negated = !filter.is_negated;
    } else if (accept('(')) {
      filter = one_of();
      expect(')');
    } else {
      filter.conditions.push_back(condition());
    }
    --depth_;
    return filter;
  }

  FilterCondition condition() {
    FilterCondition condition;
    skip_blanks();
    condition.field = is_at('"') ? quoted() : word("the name of a field");
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
    const bool is_quoted = is_at('"') || is_at('\'');
    const std::string first = value();
    const size_t dots = is_quoted ? std::string::npos : first.find("..");
    if (dots == std::string::npos) return {first, first};
    FilterCondition::Range parsed{first.substr(0, dots), first.substr(dots + 2)};
    if (parsed.first.empty() || parsed.last.empty()) fail("a range FIRST..LAST with both ends");
    return parsed;
  }

  std::string value() {
    skip_blanks();
    return is_at('"') || is_at('\'') ? quoted() : word("a value");
  }

  // A quote that stands twice is one of the text.
  std::string quoted() {
    const char quote = text_[at_];
    std::string text;
    for (++at_;; ++at_) {
      const size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) fail("a closing quote");
      text += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (!is_at(quote)) return text;
      text += quote;
    }
  }

  // Brackets that are closed within it belong to a word: "size(kB)".
  std::string word(const char* what) {
    skip_blanks();
    const size_t begin = at_;
    for (int open = 0; at_ < text_.size() && !is_special(text_[at_]); ++at_) {
      if (text_[at_] == '(') ++open;
      if (text_[at_] == ')' && --open < 0) break;
    }
    if (at_ == begin) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool accept_word(std::string_view wanted) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(wanted)) return false;
    const bool is_longer = rest.size() > wanted.size();
    if (is_longer && !is_special(rest[wanted.size()]) && !is_bracket(rest[wanted.size()])) {
      return false;
    }
    at_ += wanted.size();
    return true;
  }
  [[nodiscard]] bool is_at(char wanted) const { return at_ < text_.size() && text_[at_] == wanted; }
  bool accept(char wanted) {
    skip_blanks();
    if (!is_at(wanted)) return false;
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
                   "the filter '{}' needs {} {}; a complete filter is, for example, label in {{1, "
                   "5..9}} and id != 'x'",
                   text_, expected, rest.empty() ? "at its end" : fmt::format("before '{}'", rest));
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Filter parse_filter(std::string_view text) {
  return Parser(text).run();
}

std::vector<int64_t> read_index_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::not_found, "the index file cannot be opened",
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
                       "'{1}' in line {0} is not a record number; write a number of 0 or more",
                       number, rest);
      }
      indices.push_back(index);
      rest.remove_prefix(used);
    }
  }
  if (file.bad()) throw error_at(path, ErrorCode::io, "the file cannot be read");
  return indices;
}

std::string filter_word(std::string_view field) {
  constexpr std::string_view kWords[] = {"and", "or", "not", "in"};
  const bool is_plain = !field.empty() && std::ranges::count(kWords, field) == 0 &&
                        std::ranges::none_of(field, is_special) &&
                        std::ranges::none_of(field, is_bracket);
  if (is_plain) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace ffkit
