#include "dataset/class_filter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/make_error.h"
#include "base/options/nearest_names.h"
#include "schema/label_field.h"

namespace ffkit {
namespace {

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
  using Op = FilterCondition::Op;
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
