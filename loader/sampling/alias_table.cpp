#include "sampling/alias_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

// The same on every machine: there is no product and sum here that a compiler may fuse.
std::vector<double> relative_to_mean(std::span<const double> weights) {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
  };
  if (weights.empty()) refuse("there are no weights");
  if (weights.size() > uint64_t{1} << 32) {
    refuse(fmt::format("there are {} weights, at most 2^32 can be drawn from", weights.size()));
  }
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      refuse(fmt::format("the weight of record {} is {}, must be finite and not negative", i,
                         weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0) refuse("all weights are 0");
  // Relative to the largest first: neither sum nor quotients leave the range of doubles.
  std::vector<double> shares(weights.begin(), weights.end());
  double sum = 0;
  for (double& share : shares) {
    share /= largest;
    sum += share;
  }
  for (double& share : shares) share = share / sum * static_cast<double>(shares.size());
  return shares;
}

}  // namespace

AliasTable::AliasTable(std::span<const double> weights) : columns_(weights.size()) {
  std::vector<double> shares = relative_to_mean(weights);
  // Columns that are not full from the front, the others from the back.
  std::vector<uint32_t> waiting(shares.size());
  size_t num_small = 0;
  size_t large_begin = shares.size();
  for (size_t i = 0; i < shares.size(); ++i) {
    columns_[i].alias = static_cast<uint32_t>(i);
    waiting[shares[i] < 1 ? num_small++ : --large_begin] = static_cast<uint32_t>(i);
  }
  while (num_small > 0 && large_begin < shares.size()) {
    const uint32_t small = waiting[--num_small];
    const uint32_t large = waiting[large_begin];
    constexpr double kTwoTo32 = 4294967296.0;
    const double threshold = std::min(std::round(shares[small] * kTwoTo32), kTwoTo32 - 1);
    // What can be drawn at all stays possible, however rare.
    columns_[small] = {static_cast<uint32_t>(weights[small] > 0 ? std::max(threshold, 1.0) : 0),
                       large};
    shares[large] -= 1 - shares[small];
    if (shares[large] < 1) {
      ++large_begin;
      waiting[num_small++] = large;
    }
  }
  // What is left over is full but for rounding, unless it must not be drawn at all.
  const auto heaviest = std::max_element(weights.begin(), weights.end()) - weights.begin();
  for (size_t i = 0; i < num_small; ++i) {
    if (weights[waiting[i]] == 0) columns_[waiting[i]].alias = static_cast<uint32_t>(heaviest);
  }
}

}  // namespace ffkit
