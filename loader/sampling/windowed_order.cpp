#include "sampling/windowed_order.h"

#include <algorithm>

#include <ffkit/image/random.h>

#include "base/mix64.h"

namespace ffkit {

WindowedOrder::WindowedOrder(int64_t num_records, int64_t window_block, int64_t window_blocks,
                             uint64_t key)
    : key_(key),
      block_records_(std::min(window_block, num_records)),
      num_blocks_((num_records - 1) / block_records_ + 1),
      window_blocks_(std::min(window_blocks, num_blocks_)),
      missing_(num_blocks_ * block_records_ - num_records),
      short_place_(CounterRandom({.seed = key}).below(num_blocks_)),
      blocks_(std::max<int64_t>(num_blocks_ - 1, 1), mix64(key, 0)),
      records_(1, 0) {}

int64_t WindowedOrder::records_before(int64_t num_blocks) const {
  const int64_t blocks = std::min(num_blocks, num_blocks_);
  return blocks * block_records_ - (blocks > short_place_ ? missing_ : 0);
}

int64_t WindowedOrder::operator()(int64_t position) {
  if (position < window_begin_ || position >= window_begin_ + window_size_) {
    // The window with the short block lets the later ones begin earlier.
    const int64_t window_records = window_blocks_ * block_records_;
    const int64_t short_window = short_place_ / window_blocks_;
    const bool is_later = position >= records_before((short_window + 1) * window_blocks_);
    const int64_t window = (is_later ? position + missing_ : position) / window_records;
    window_begin_ = records_before(window * window_blocks_);
    window_size_ = records_before((window + 1) * window_blocks_) - window_begin_;
    records_ = Permutation(window_size_, mix64(key_, static_cast<uint64_t>(window) + 1));
  }
  int64_t shuffled = window_begin_ + records_(position - window_begin_);
  // Filled up behind the short block, the sequence is one of blocks of the same size.
  const bool in_short_block =
      shuffled >= short_place_ * block_records_ && shuffled < records_before(short_place_ + 1);
  if (in_short_block) {
    return (num_blocks_ - 1) * block_records_ + shuffled - short_place_ * block_records_;
  }
  if (shuffled >= short_place_ * block_records_) shuffled += missing_;
  const int64_t place = shuffled / block_records_;
  const int64_t block = blocks_(place > short_place_ ? place - 1 : place);
  return block * block_records_ + shuffled % block_records_;
}

}  // namespace ffkit
