// Sums of columns over the shards of a split, for the summary.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

// Of those of `columns` that `split` has, in their order. Reads columns, no records.
std::vector<std::pair<std::string, int64_t>> column_totals(const Dataset& split,
                                                           const std::vector<std::string>& columns);

}  // namespace ffkit
