// Sums of columns over the shards of a split, for the summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ffkit {

// Of those of `columns` that the split in `folder` has, in their order. Reads columns, no records.
std::vector<std::pair<std::string, int64_t>> column_totals(const std::filesystem::path& folder,
                                                           const std::vector<std::string>& columns);

}  // namespace ffkit
