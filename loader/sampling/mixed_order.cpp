#include "sampling/mixed_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <ffkit/base/error.h>
#include <ffkit/loader/mixture.h>

#include "base/mix64.h"

namespace ffkit {
namespace {

constexpr size_t kMaxSets = 1024;
constexpr int64_t kMaxMixedSamples = int64_t{1} << 60;  // as the sampler's

[[noreturn]] void refuse_mixture(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

void check_mixture(const Mixture& mixture) {
  if (mixture.num_records.empty() || mixture.num_records.size() > kMaxSets) {
    refuse_mixture(fmt::format("a mixture is of {} data sets, must be of 1 .. {}",
                               mixture.num_records.size(), kMaxSets));
  }
  for (size_t i = 0; i < mixture.num_records.size(); ++i) {
    const int64_t count = mixture.num_records[i];
    if (count >= 1 && count <= kMaxMixedSamples / static_cast<int64_t>(kMaxSets)) continue;
    refuse_mixture(
        fmt::format("data set {} of the mixture has {} records, must have 1 .. 2^50", i, count));
  }
  if (mixture.weights.empty()) return;
  if (mixture.weights.size() != mixture.num_records.size()) {
    refuse_mixture(fmt::format("the mixture has {} weights for {} data sets",
                               mixture.weights.size(), mixture.num_records.size()));
  }
  for (size_t i = 0; i < mixture.weights.size(); ++i) {
    if (std::isfinite(mixture.weights[i]) && mixture.weights[i] > 0) continue;
    refuse_mixture(fmt::format("the weight of data set {} is {}, must be finite and more than 0", i,
                               mixture.weights[i]));
  }
}

// Whole numbers in proportion to the weights, the same on every machine: a quotient and a product
// with a power of two, which no compiler fuses.
std::vector<uint64_t> whole_weights(const Mixture& mixture) {
  constexpr double kScale = 1099511627776.0;  // 2^40
  std::vector<uint64_t> out(mixture.num_records.size(), 1);
  if (mixture.weights.empty()) return out;
  const double largest = *std::ranges::max_element(mixture.weights);
  for (size_t i = 0; i < out.size(); ++i) {
    const double share = mixture.weights[i] / largest;
    out[i] = static_cast<uint64_t>(std::llround(share * kScale));
  }
  return out;
}

}  // namespace

std::vector<int64_t> mixture_counts(const Mixture& mixture, int64_t epoch_size) {
  __extension__ using Wide = unsigned __int128;
  check_mixture(mixture);
  const std::vector<int64_t>& records = mixture.num_records;
  if (epoch_size < 0 || epoch_size > kMaxMixedSamples) {
    refuse_mixture(fmt::format("epoch_size is {}, must be 0 .. 2^60", epoch_size));
  }
  if (epoch_size == 0 && mixture.weights.empty()) {
    epoch_size = std::ssize(records) * *std::ranges::max_element(records);
  } else if (epoch_size == 0) {
    epoch_size = std::accumulate(records.begin(), records.end(), int64_t{0});
  }
  const std::vector<uint64_t> weights = whole_weights(mixture);
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<int64_t> counts;
  std::vector<uint64_t> remainders;
  for (const uint64_t weight : weights) {
    const Wide scaled = static_cast<Wide>(epoch_size) * weight;
    counts.push_back(static_cast<int64_t>(scaled / total));
    remainders.push_back(static_cast<uint64_t>(scaled % total));
  }
  std::vector<size_t> by_remainder(counts.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::ranges::sort(by_remainder, [&](size_t a, size_t b) {
    return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
  });
  const int64_t left = epoch_size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < left; ++i) ++counts[by_remainder[i]];
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) continue;
    refuse_mixture(
        fmt::format("an epoch of {} samples has none of data set {}; give that a larger "
                    "weight, or take a larger epoch_size",
                    epoch_size, i));
  }
  return counts;
}

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
