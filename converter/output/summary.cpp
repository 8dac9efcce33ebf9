#include <map>
#include <string>
#include <vector>

#include <ffkit/converter/summary.h>

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
