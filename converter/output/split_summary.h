// What a summary says of a split.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/summary.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// Of a split that is written.
SplitSummary summary_of(const Manifest& manifest, int64_t num_skipped = 0);

// Sums, of those of `columns` that `split` has, in their order. Reads columns, no records.
std::vector<std::pair<std::string, int64_t>> column_totals(const Dataset& split,
                                                           const std::vector<std::string>& columns);

}  // namespace ffkit
