#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <variant>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/filter.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/other_words.h"
#include "dataset/dataset_files.h"
#include "schema/label_field.h"

namespace ffkit {
namespace {

using Op = FilterCondition::Op;

[[noreturn]] void refuse_condition(const FilterCondition& condition, const std::string& text,
                                   const char* wanted) {
  throw error_of(ErrorCode::invalid_argument,
                 "the filter compares field '{}' with '{}', which is not {}", condition.field, text,
                 wanted);
}

// The number of the type that is nearest to `value`; `value` itself beyond the type's largest.
double nearest_of(DType dtype, double value) {
  struct Precision {
    int num_digits;  // binary ones
    int smallest;    // the exponent of the smallest number above 0
    double largest;
  };
  const Precision to = dtype == DType::f16    ? Precision{11, -24, 65504}
                       : dtype == DType::bf16 ? Precision{8, -133, 0x1.FEp127}
                                              : Precision{24, -149, 0x1.FFFFFEp127};
  if (dtype == DType::f64 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - to.num_digits, to.smallest);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(rounded) > to.largest ? value : rounded;
}

// What a column's values are compared with. Nothing stands below every number: the place of a
// negative one beside unsigned integers.
template <typename T>
using Bound = std::conditional_t<std::is_same_v<T, uint64_t>, std::optional<uint64_t>, T>;

template <typename T>
Bound<T> parse_value(const FilterCondition& condition, const std::string& text, DType dtype) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (text.starts_with('-')) {
        const auto below = parse_value<int64_t>(condition, text, dtype);
        return below < 0 ? Bound<T>() : Bound<T>(0);
      }
    }
    const std::optional<T> value = number_of_text<T>(text);
    if (!value) {
      refuse_condition(condition, text,
                       std::is_integral_v<T> ? "an integer of 64 bits" : "a number");
    }
    if constexpr (std::is_same_v<T, double>) return nearest_of(dtype, *value);
    return *value;
  }
}

// The values of a condition as ordered ranges that do not overlap, so that membership is a binary
// search.
template <typename T>
class Matcher {
  using Range = std::pair<Bound<T>, Bound<T>>;

 public:
  Matcher(const FilterCondition& condition, DType dtype) : op_(condition.op) {
    const bool takes_ranges = op_ == Op::in || op_ == Op::not_in;
    if (condition.values.empty() ||
        (!takes_ranges &&
         (condition.values.size() > 1 || condition.values[0].first != condition.values[0].last))) {
      throw error_of(ErrorCode::invalid_argument, "this filter must compare field '{}' with {}",
                     condition.field, takes_ranges ? "one value or more" : "one value");
    }
    const bool is_order = !takes_ranges && op_ != Op::equal && op_ != Op::not_equal;
    for (const auto& [first, last] : condition.values) {
      ranges_.emplace_back(parse_value<T>(condition, first, dtype),
                           parse_value<T>(condition, last, dtype));
      if constexpr (std::is_same_v<T, double>) {
        const auto [low, high] = ranges_.back();
        if (!std::isnan(low) && !std::isnan(high)) continue;
        if (is_order || first != last)
          refuse_condition(condition, "nan",
                           "a value that has an order; compare nan only with == or !=");
        has_nan_ = true;
        ranges_.pop_back();
      }
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
    if constexpr (std::is_same_v<T, double>) {
      if (std::isnan(value)) return has_nan_;
    }
    const Bound<T>& bound = value;
    const auto after = std::ranges::upper_bound(ranges_, bound, {}, &Range::first);
    return after != ranges_.begin() && value <= std::prev(after)->second;
  }

  Op op_;
  bool has_nan_ = false;
  std::vector<Range> ranges_;
};

using ColumnValues = std::variant<std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                                  std::vector<std::string>>;

ColumnValues read_column(const ShardReader& shard, const Field& field) {
  if (field.type == FieldType::string) return shard.string_column(field.name);
  if (field.dtype == DType::u64) return shard.uint_column(field.name);
  if (is_integer(field.dtype)) return shard.int_column(field.name);
  return shard.float_column(field.name);
}

// Whether a record is wanted.
using RecordTest = std::function<bool(size_t record)>;

// A column is read once for any number of conditions. The tests live as long as this.
class RecordTests {
 public:
  explicit RecordTests(const ShardReader& shard) : shard_(shard) {}

  RecordTest of(const Filter& filter) {
    std::vector<RecordTest> tests;
    for (const FilterCondition& condition : filter.conditions) tests.push_back(of(condition));
    for (const Filter& part : filter.parts) tests.push_back(of(part));
    // One of all is enough, or one that does not hold is.
    const bool is_any = filter.is_any;
    const bool found = is_any != filter.is_negated;
    if (tests.empty()) return [wanted = !filter.is_negated](size_t) { return wanted; };
    return [tests = std::move(tests), is_any, found](size_t record) {
      for (const RecordTest& test : tests) {
        if (test(record) == is_any) return found;
      }
      return !found;
    };
  }

 private:
  RecordTest of(const FilterCondition& condition) {
    const Field& field = shard_.schema().fields[shard_.schema().require(condition.field)];
    auto at = columns_.find(field.name);
    if (at == columns_.end()) at = columns_.emplace(field.name, read_column(shard_, field)).first;
    return std::visit(
        [&]<typename T>(const std::vector<T>& column) -> RecordTest {
          return [&column, matches = Matcher<T>(condition, field.dtype)](size_t record) {
            return matches(column[record]);
          };
        },
        at->second);
  }

  const ShardReader& shard_;
  std::map<std::string, ColumnValues> columns_;
};

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
    throw error_of(ErrorCode::not_found, "there is no class '{}'; the nearest names are '{}'", name,
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
    throw error_of(
        ErrorCode::invalid_argument,
        "{1} classes have the name '{0}'; choose a class by its identifier, which is one of '{2}'",
        name, numbers.size(), fmt::join(identifiers, "', '"));
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
                   "classes have no order; compare {} with ==, !=, in or not in", kClassField);
  }
  for (const auto& [first, last] : condition.values) {
    if (first != last) {
      throw error_of(ErrorCode::invalid_argument,
                     "classes cannot form a range such as {}..{}; put the name of a class in "
                     "quotes if the name contains dots",
                     first, last);
    }
    const std::string number = std::to_string(numbers.of(first));
    result.values.push_back({number, number});
  }
  return result;
}

bool is_on_class(const FilterCondition& condition) {
  return condition.field == kClassField;
}
bool has_class(const Filter& filter) {
  return std::ranges::any_of(filter.conditions, is_on_class) ||
         std::ranges::any_of(filter.parts, has_class);
}

Filter on_labels(Filter filter, const ClassNumbers& numbers) {
  for (FilterCondition& condition : filter.conditions) {
    if (is_on_class(condition)) condition = on_label(condition, numbers);
  }
  for (Filter& part : filter.parts) part = on_labels(std::move(part), numbers);
  return filter;
}

}  // namespace

std::vector<int64_t> matching_records(const ShardReader& shard, const Filter& filter) {
  RecordTests tests(shard);
  const RecordTest is_wanted = tests.of(filter);
  // The columns have been read: a sparse file may claim any number of records.
  std::vector<int64_t> records;
  for (int64_t i = 0; i < shard.num_records(); ++i) {
    if (is_wanted(static_cast<size_t>(i))) records.push_back(i);
  }
  return records;
}

Filter with_labels_for_classes(const Filter& filter, const Manifest& manifest) {
  if (manifest.classes.empty() || manifest.schema.index_of(kClassField) >= 0 ||
      !find_label_field(manifest.schema) || !has_class(filter)) {
    return filter;
  }
  return on_labels(filter, ClassNumbers(manifest));
}

}  // namespace ffkit
