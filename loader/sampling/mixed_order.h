// MixedOrder: the sequence of Order::shuffle with a mixture in one epoch, see sampler.h.
//
//   the epoch's samples by data set   0 0 0 0 0 0 1 1 1 2 2 2
//   permuted                          0 2 0 0 1 0 2 1 0 0 2 1
//
// Sample j of a data set of R records is record j % R of its permutation j / R.
//
// Immutable, so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/loader/mixture.h>
#include <ffkit/loader/permutation.h>

namespace ffkit {

// What a mixture has of each data set in an epoch.
class MixedSets {
 public:
  // `counts` are those of mixture_counts().
  MixedSets(const Mixture& mixture, const std::vector<int64_t>& counts);

  struct Set {
    int64_t first_record = 0;
    int64_t num_records = 0;
    int64_t first_sample = 0;  // where all samples of the epoch stand by data set
  };
  int64_t epoch_size() const { return epoch_size_; }
  // The data sets' numbers.
  int64_t of_sample(int64_t sample) const;
  int64_t of_record(int64_t record) const;
  const Set& operator[](int64_t set) const { return sets_[set]; }

 private:
  std::vector<Set> sets_;
  int64_t epoch_size_ = 0;
};

class MixedOrder {
 public:
  // `sets` must outlive this; `key` stands for seed and epoch.
  MixedOrder(const MixedSets& sets, uint64_t key);

  struct Sample {
    int64_t record = 0;
    int64_t repetition = 0;  // how many times all records of its data set are used up before
  };
  // At `position`, 0 .. epoch_size-1. O(log of the number of data sets).
  Sample operator()(int64_t position) const;

 private:
  const MixedSets& sets_;
  const uint64_t key_;
  const Permutation samples_;
};

}  // namespace ffkit
