// TokenOrder: the order of blocks, documents and samples in an epoch. A pure function of data set,
// options and epoch.
//
//   blocks      b0 b1 b2 ...    permuted; their units (tokens or documents) are numbered in order
//   documents   of each block   permuted (OpenBlocks)
//   samples     unit 0 ..       of `context` tokens or one document; permuted within a window
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ffkit/loader/permutation.h>

namespace ffkit::text {

class TokenOrder {
 public:
  // `units` has the number of units of each block. An epoch has `samples` samples of `stride`
  // units, shuffled in windows of `window_samples`. All are >= 1. Without `shuffle`, nothing is
  // shuffled.
  TokenOrder(std::vector<int64_t> units, int64_t samples, int64_t stride, int64_t window_samples,
             bool shuffle, uint64_t seed);

  int64_t num_samples() const { return num_samples_; }
  int64_t window_samples() const { return window_samples_; }

  // Takes O(number of blocks).
  void start_epoch(int64_t epoch);

  // The sample at `position` of the present epoch's sequence, both 0 .. num_samples()-1.
  int64_t sample(int64_t position) const;
  // The first unit of a sample.
  int64_t first_unit(int64_t sample) const { return sample * stride_; }
  // The place, in the order of blocks, of the block that unit `unit` is in; and the first unit of a
  // place.
  int64_t place_of(int64_t unit) const;
  int64_t begin_of(int64_t place) const { return begins_[place]; }
  int64_t num_places() const { return std::ssize(begins_) - 1; }
  // The block at a place.
  int64_t block(int64_t place) const { return shuffle_ ? blocks_(place) : place; }
  // The order of a block's documents.
  uint64_t document_key(int64_t block) const;
  bool is_shuffled() const { return shuffle_; }

 private:
  std::vector<int64_t> units_;
  int64_t num_samples_;
  int64_t stride_;
  int64_t window_samples_;
  bool shuffle_;
  uint64_t seed_;
  uint64_t epoch_key_ = 0;
  Permutation blocks_;
  std::vector<int64_t> begins_;  // first unit of each place; then the number of all units
};

}  // namespace ffkit::text
