// The blocks of documents that batches of tokens are cut from: TokenOrder is their order in an
// epoch, OpenBlocks has those that were read lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/permutation.h>
#include <ffkit/text/token_data.h>

namespace ffkit::text {

// The order of blocks, documents and samples in an epoch. A pure function of data set,
// options and epoch.
//
//   blocks      b0 b1 b2 ...    permuted; their units (tokens or documents) are numbered in order
//   documents   of each block   permuted (OpenBlocks)
//   samples     unit 0 ..       of `context` tokens or one document; permuted within a window
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
  void set_epoch(int64_t epoch);

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

// Blocks that were read lately, with their documents in the order of the epoch. The
// least recently used ones make room.
class OpenBlocks {
 public:
  // The tokens of a block, document behind document.
  struct Block {
    std::vector<std::byte> tokens;  // of dtype()
    std::vector<uint32_t> ends;     // of its documents
  };

  // Keeps blocks up to `max_bytes`, and always the last two that were asked for.
  OpenBlocks(Dataset dataset, const TokenFacts& facts, int64_t max_bytes);

  DType dtype() const { return dtype_; }
  // The block at a place of `order`'s epoch. It lives until the call after the next one. Throws
  // Error(corrupt) and Error(io) as Dataset::read().
  const Block& at(const TokenOrder& order, int64_t place);
  void clear();

 private:
  Block read(const TokenOrder& order, int64_t block);

  Dataset dataset_;
  DType dtype_;
  int64_t vocabulary_size_;
  int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  struct Entry {
    int64_t place;
    Block block;
  };
  std::list<Entry> recent_;  // the last used first
  std::unordered_map<int64_t, std::list<Entry>::iterator> by_place_;
  std::vector<std::byte> record_;
};

}  // namespace ffkit::text
