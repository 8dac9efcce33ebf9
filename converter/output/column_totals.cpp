#include "output/column_totals.h"

#include <numeric>

namespace ffkit {

std::vector<std::pair<std::string, int64_t>> column_totals(
    const Dataset& split, const std::vector<std::string>& columns) {
  std::vector<std::pair<std::string, int64_t>> totals;
  for (const std::string& column : columns) {
    if (split.schema().index_of(column) < 0) continue;
    const std::vector<int64_t> values = split.int_column(column);
    totals.emplace_back(column, std::accumulate(values.begin(), values.end(), int64_t{0}));
  }
  return totals;
}

}  // namespace ffkit
