#include "sampling/mixed_order.h"

#include <algorithm>

#include "base/mix64.h"

namespace ffkit {

MixedSets::MixedSets(const Mixture& mixture, const std::vector<int64_t>& counts) {
  int64_t first_record = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sets_.push_back({first_record, mixture.num_records[i], epoch_size_});
    first_record += mixture.num_records[i];
    epoch_size_ += counts[i];
  }
}

int64_t MixedSets::of_sample(int64_t sample) const {
  return std::ranges::upper_bound(sets_, sample, {}, &Set::first_sample) - sets_.begin() - 1;
}

int64_t MixedSets::of_record(int64_t record) const {
  return std::ranges::upper_bound(sets_, record, {}, &Set::first_record) - sets_.begin() - 1;
}

MixedOrder::MixedOrder(const MixedSets& sets, uint64_t key)
    : sets_(sets), key_(key), samples_(sets.epoch_size(), mix64(key, 0)) {}

MixedOrder::Sample MixedOrder::operator()(int64_t position) const {
  const int64_t sample = samples_(position);
  const int64_t number = sets_.of_sample(sample);
  const MixedSets::Set& set = sets_[number];
  const int64_t repetition = (sample - set.first_sample) / set.num_records;
  const uint64_t key =
      mix64(mix64(key_, static_cast<uint64_t>(number) + 1), static_cast<uint64_t>(repetition));
  const Permutation records(set.num_records, key);
  return {.record = set.first_record + records((sample - set.first_sample) % set.num_records),
          .repetition = repetition};
}

}  // namespace ffkit
