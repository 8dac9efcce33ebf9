#include "output/split_summary.h"

#include <map>
#include <numeric>

namespace ffkit {
namespace {

int64_t sum_of(const std::vector<SplitSummary>& splits, int64_t SplitSummary::*member) {
  int64_t total = 0;
  for (const SplitSummary& split : splits) total += split.*member;
  return total;
}

int64_t sum_of(const std::map<std::string, int64_t>& counts) {
  int64_t total = 0;
  for (const auto& [words, count] : counts) total += count;
  return total;
}

}  // namespace

SplitSummary summary_of(const Manifest& manifest, int64_t num_skipped) {
  return {.split = manifest.split,
          .num_records = manifest.num_records(),
          .num_skipped = num_skipped,
          .num_shards = std::ssize(manifest.shards),
          .file_bytes = manifest.file_bytes(),
          .fingerprint = manifest.fingerprint()};
}

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

int64_t ConvertSummary::num_records() const {
  return sum_of(splits, &SplitSummary::num_records);
}
int64_t ConvertSummary::num_skipped() const {
  return sum_of(splits, &SplitSummary::num_skipped);
}
int64_t ConvertSummary::num_without_dct() const {
  return sum_of(without_dct);
}
int64_t ConvertSummary::num_remarks() const {
  return sum_of(remarks);
}
int64_t ConvertSummary::num_shards() const {
  return sum_of(splits, &SplitSummary::num_shards);
}
int64_t ConvertSummary::file_bytes() const {
  return sum_of(splits, &SplitSummary::file_bytes);
}

}  // namespace ffkit
