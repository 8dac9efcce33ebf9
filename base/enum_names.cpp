#include "enum_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "make_error.h"

namespace ffkit {
namespace {

constexpr size_t kMostNames = 3;

// Levenshtein's, a row at a time.
size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  const auto plain = [](char c) { return c == '_' ? '-' : c; };
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (plain(a[i]) == plain(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

void refuse_name(std::string_view what, std::string_view name, std::vector<std::string> names) {
  const std::string last = std::move(names.back());
  names.pop_back();
  throw error_of(ErrorCode::invalid_argument, "there is no {} '{}'; there are {} and {}", what,
                 name, fmt::join(names, ", "), last);
}

std::vector<std::string> nearest_names(std::string_view name, std::vector<std::string> names) {
  std::ranges::stable_sort(names, {},
                           [&](const std::string& n) { return letters_between(name, n); });
  if (names.size() > kMostNames) names.resize(kMostNames);
  return names;
}

}  // namespace ffkit
