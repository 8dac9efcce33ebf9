// Mixture: how many samples of each of several data sets an epoch has. A plain value and a pure
// function of it: thread-safe.
//
//   records        0 .......... 999 | 1000 .. 1099 |   data set 0 has 1000 of them, 1 has 100
//   equal shares   1000 samples     | 1000 samples |   each record of data set 1 ten times
//   weights 3, 1    825             |  275         |   an epoch of 1100 samples, as many as records
#pragma once

#include <cstdint>
#include <vector>

namespace ffkit {

struct Mixture {
  // Records of each data set, >= 1, in the order of their numbers; at most 1024 data sets. Empty: a
  // Loader takes them from its Dataset, a chain (Dataset::source_sizes()).
  std::vector<int64_t> num_records = {};
  // The share of each data set in an epoch's samples, finite and > 0. Empty: equal shares; smaller
  // data sets are repeated until the largest is used up, as in RootNet's MultipleDatasets.
  std::vector<double> weights = {};

  bool operator==(const Mixture&) const = default;
};

// Returns the samples of each data set in an epoch of `epoch_size` samples. An epoch_size of 0 is
// the Sampler's default: the number of all records, or with equal shares the number of data sets
// times the records of the largest. Shares are rounded down; the samples that are left go to the
// largest remainders, of equal ones to the first. Throws Error(invalid_argument) for values out of
// range, and for a data set that would have no sample in the epoch.
std::vector<int64_t> mixture_counts(const Mixture& mixture, int64_t epoch_size = 0);

}  // namespace ffkit
