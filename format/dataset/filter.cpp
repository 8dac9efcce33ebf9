#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/filter.h>

#include "base/enum_names.h"
#include "base/make_error.h"
#include "dataset/dataset_files.h"
#include "schema/label_field.h"

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

[[noreturn]] void refuse_condition(const FilterCondition& condition, const std::string& text,
                                   const char* wanted) {
  throw error_of(ErrorCode::invalid_argument,
                 "the filter compares field '{}' with '{}', which is not {}", condition.field, text,
                 wanted);
}

template <typename T>
T parse_value(const FilterCondition& condition, const std::string& text) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
      refuse_condition(condition, text,
                       std::is_same_v<T, int64_t> ? "an integer of 64 bits" : "a number");
    }
    // NaN has no place in an order, which the ranges need.
    if (value != value) refuse_condition(condition, text, "a number");
    return value;
  }
}

// The values of a condition as ordered ranges that do not overlap, so that membership is a binary
// search.
template <typename T>
class Matcher {
 public:
  explicit Matcher(const FilterCondition& condition) : op_(condition.op) {
    const bool takes_ranges = op_ == Op::in || op_ == Op::not_in;
    if (condition.values.empty() ||
        (!takes_ranges &&
         (condition.values.size() > 1 || condition.values[0].first != condition.values[0].last))) {
      throw error_of(ErrorCode::invalid_argument, "the filter must compare field '{}' with {}",
                     condition.field, takes_ranges ? "one value or more" : "one value");
    }
    for (const auto& [first, last] : condition.values) {
      ranges_.emplace_back(parse_value<T>(condition, first), parse_value<T>(condition, last));
    }
    std::erase_if(ranges_, [](const auto& range) { return range.second < range.first; });
    std::ranges::sort(ranges_);
    size_t kept = 0;
    for (size_t i = 1; i < ranges_.size(); ++i) {
      if (!(ranges_[kept].second < ranges_[i].first)) {
        ranges_[kept].second = std::max(ranges_[kept].second, ranges_[i].second);
      } else {
        ranges_[++kept] = ranges_[i];
      }
    }
    if (!ranges_.empty()) ranges_.resize(kept + 1);
  }

  bool operator()(const T& value) const {
    switch (op_) {
      case Op::less:
        return value < ranges_[0].first;
      case Op::less_equal:
        return value <= ranges_[0].first;
      case Op::greater:
        return value > ranges_[0].first;
      case Op::greater_equal:
        return value >= ranges_[0].first;
      case Op::equal:
      case Op::in:
        return contains(value);
      default:
        return !contains(value);
    }
  }

 private:
  bool contains(const T& value) const {
    const auto after = std::ranges::upper_bound(ranges_, value, {}, &std::pair<T, T>::first);
    return after != ranges_.begin() && value <= std::prev(after)->second;
  }

  Op op_;
  std::vector<std::pair<T, T>> ranges_;
};

template <typename T>
void keep_matching(const FilterCondition& condition, const std::vector<T>& column,
                   std::vector<int64_t>& records) {
  const Matcher<T> matches(condition);
  std::erase_if(records,
                [&](int64_t record) { return !matches(column[static_cast<size_t>(record)]); });
}

constexpr std::string_view kClassField = "class";
constexpr std::string_view kNamesApart = ", ";

// The numbers of the classes that are called so. An identifier belongs to one class, a name may
// belong to several.
class ClassNumbers {
 public:
  explicit ClassNumbers(const Manifest& manifest) : manifest_(manifest) {
    for (size_t i = 0; i < manifest.classes.size(); ++i) {
      add(by_identifier_, manifest.classes[i], i);
      if (manifest.class_names.empty()) continue;
      const std::string& names = manifest.class_names[i];
      add(by_name_, names, i);
      for (size_t begin = 0; begin < names.size();) {
        const size_t end = std::min(names.find(kNamesApart, begin), names.size());
        add(by_name_, names.substr(begin, end - begin), i);
        begin = end + kNamesApart.size();
      }
    }
  }

  size_t of(const std::string& name) const {
    for (const auto* numbers : {&by_identifier_, &by_name_}) {
      const auto found = numbers->find(name);
      if (found == numbers->end()) continue;
      if (found->second.size() > 1) refuse_shared_name(name, found->second);
      return found->second.front();
    }
    std::vector<std::string> names;
    for (const auto* numbers : {&by_identifier_, &by_name_}) {
      for (const auto& [known, ignored] : *numbers) names.push_back(known);
    }
    throw error_of(ErrorCode::not_found, "there is no class '{}'; the nearest are '{}'", name,
                   fmt::join(nearest_names(name, std::move(names)), "', '"));
  }

 private:
  using Numbers = std::map<std::string, std::vector<size_t>, std::less<>>;

  static void add(Numbers& numbers, const std::string& name, size_t number) {
    std::vector<size_t>& same = numbers[name];
    if (same.empty() || same.back() != number) same.push_back(number);
  }

  [[noreturn]] void refuse_shared_name(const std::string& name,
                                       const std::vector<size_t>& numbers) const {
    std::vector<std::string> identifiers;
    identifiers.reserve(numbers.size());
    for (const size_t number : numbers) identifiers.push_back(manifest_.classes[number]);
    throw error_of(ErrorCode::invalid_argument,
                   "'{}' is the name of {} classes: '{}'; choose them by these identifiers", name,
                   numbers.size(), fmt::join(identifiers, "', '"));
  }

  const Manifest& manifest_;
  Numbers by_identifier_;
  Numbers by_name_;
};

FilterCondition on_label(const FilterCondition& condition, const ClassNumbers& numbers) {
  FilterCondition result{.field = "label", .op = condition.op, .values = {}};
  if (condition.op != Op::equal && condition.op != Op::not_equal && condition.op != Op::in &&
      condition.op != Op::not_in) {
    throw error_of(ErrorCode::invalid_argument,
                   "classes have no order; {} must be compared by ==, !=, in or not in",
                   kClassField);
  }
  for (const auto& [first, last] : condition.values) {
    if (first != last) {
      throw error_of(ErrorCode::invalid_argument,
                     "classes have no ranges, such as {}..{}; put a name that has dots into quotes",
                     first, last);
    }
    const std::string number = std::to_string(numbers.of(first));
    result.values.push_back({number, number});
  }
  return result;
}

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

std::vector<int64_t> matching_records(const ShardReader& shard, const Filter& filter) {
  std::vector<int64_t> records;
  const auto take_all = [&] {
    records.resize(static_cast<size_t>(shard.num_records()));
    for (size_t i = 0; i < records.size(); ++i) records[i] = static_cast<int64_t>(i);
  };
  bool is_first = true;
  // Field by field, so that a column is read once for any number of conditions.
  std::vector<const FilterCondition*> left;
  for (const FilterCondition& condition : filter.conditions) left.push_back(&condition);
  while (!left.empty()) {
    const std::string& name = left.front()->field;
    const Field& field = shard.schema().fields[shard.schema().require(name)];
    // After the column was read: a sparse file may claim any number of records.
    const auto keep = [&](const auto& column) {
      if (std::exchange(is_first, false)) take_all();
      for (const FilterCondition* condition : left) {
        if (condition->field == name) keep_matching(*condition, column, records);
      }
    };
    if (field.type == FieldType::string) {
      keep(shard.string_column(field.name));
    } else if (is_integer(field.dtype)) {
      keep(shard.int_column(field.name));
    } else {
      keep(shard.float_column(field.name));
    }
    std::erase_if(left, [&](const FilterCondition* c) { return c->field == name; });
  }
  if (is_first) take_all();
  return records;
}

Filter with_labels_for_classes(const Filter& filter, const Manifest& manifest) {
  const auto is_on_class = [](const FilterCondition& c) { return c.field == kClassField; };
  if (manifest.classes.empty() || manifest.schema.index_of(kClassField) >= 0 ||
      !find_label_field(manifest.schema) || std::ranges::none_of(filter.conditions, is_on_class)) {
    return filter;
  }
  const ClassNumbers numbers(manifest);
  Filter result;
  result.conditions.reserve(filter.conditions.size());
  for (const FilterCondition& condition : filter.conditions) {
    result.conditions.push_back(is_on_class(condition) ? on_label(condition, numbers) : condition);
  }
  return result;
}

}  // namespace ffkit
