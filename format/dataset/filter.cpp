#include <algorithm>
#include <charconv>
#include <utility>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/filter.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

using Op = FilterCondition::Op;

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

}  // namespace

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

}  // namespace ffkit
