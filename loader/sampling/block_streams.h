// The sequence of Order::windowed in several streams, or in blocks of bytes, see sampler.h:
//
//   runs (shards) permuted          | C        | A    | B          |   cut into streams of as many
//   streams                         | 0       | 1         | 2      |   records, but for one
//   blocks of a stream, permuted      2 0 | 1 3 |                      cut into windows
//   records                           permuted within each window
//   the epoch                       0 1 2 0 1 2 0 1 2 ...              a record of each stream
//
// So a stream has few shards, and what lies in two of its blocks, such as a record across the end
// of a block of the cache, is read on one machine. Runs are permuted by the seed alone: a stream
// has the same records in each epoch, which the cache of a machine then has. All else is drawn anew
// in each epoch.
//
// Of the streams that were asked for, an epoch takes 16 bytes of memory a block; the last two
// epochs are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ffkit/loader/permutation.h>
#include <ffkit/loader/sampler.h>

namespace ffkit {

// One stream of one epoch.
struct RecordStream {
  struct Block {
    int64_t position = 0;  // of its first record in the stream before windows are permuted
    int64_t first_record = 0;
  };
  int64_t num_records = 0;
  uint64_t key = 0;
  std::vector<Block> blocks;    // permuted
  std::vector<size_t> windows;  // the first block of each, and the number of blocks at the end
};

// Which blocks there are: made once for all epochs. Thread-safe.
class BlockStreams {
 public:
  // `options` are checked.
  BlockStreams(int64_t num_records, const SamplerOptions& options);

  int64_t num_streams() const { return num_streams_; }
  // The record at a place of the order in which files have them.
  int64_t record_at(int64_t place) const {
    return records_ == nullptr ? place : (*records_)[static_cast<size_t>(place)];
  }
  // `key` stands for seed and epoch.
  std::shared_ptr<const RecordStream> stream(uint64_t key, int64_t stream) const;

  // Behind the end of the epoch it goes on at its beginning, each position with another of its own
  // stream.
  int64_t within(int64_t position, int64_t epoch_size) const {
    const int64_t plain = position % epoch_size;
    const int64_t round = plain / num_streams_ * num_streams_;
    const bool is_whole_round = position >= epoch_size && round + num_streams_ <= epoch_size;
    return is_whole_round ? round + position % num_streams_ : plain;
  }

  // Takes `count` positions from `first` on, sorted by stream and position, and calls visit() for
  // `num_visited` of them from number `skipped` on.
  template <typename Visit>
  void for_positions_by_stream(int64_t first, int64_t count, int64_t skipped, int64_t num_visited,
                               const Visit& visit) const {
    for (int64_t stream = 0; stream < num_streams_ && num_visited > 0; ++stream) {
      const int64_t behind = (stream - first % num_streams_ + num_streams_) % num_streams_;
      const int64_t of_stream = behind < count ? (count - behind - 1) / num_streams_ + 1 : 0;
      const int64_t left_out = std::min(skipped, of_stream);
      const int64_t end = std::min(of_stream, left_out + num_visited);
      for (int64_t i = left_out; i < end; ++i) visit(first + behind + i * num_streams_);
      skipped -= left_out;
      num_visited -= end - left_out;
    }
  }

 private:
  struct Run {
    int64_t position = 0;  // in the sequence that is cut into streams
    int64_t first_place = 0;
    int64_t num_records = 0;
    int64_t num_bytes = 0;  // records, where blocks are of records
    int64_t num_blocks = 1;
  };
  struct Epoch {
    uint64_t key = 0;
    std::map<int64_t, std::shared_ptr<const RecordStream>> streams;
  };

  void permute_runs(uint64_t seed);
  int64_t block_begin(const Run& run, int64_t block) const;
  int64_t block_of(const Run& run, int64_t record) const;
  std::shared_ptr<const RecordStream> make_stream(uint64_t key, int64_t stream) const;

  const int64_t num_records_;
  const int64_t num_streams_;
  const int64_t block_bytes_;  // or records
  const int64_t window_blocks_;
  std::vector<Run> runs_;                                // permuted
  std::shared_ptr<const std::vector<int64_t>> records_;  // null: places are record numbers
  mutable std::mutex mutex_;                             // guards what follows
  mutable std::deque<Epoch> epochs_;                     // the last one first
};

// The records of an epoch by position. Not thread-safe: it keeps the window that was used last.
class StreamedOrder {
 public:
  // `streams` must outlive this; `key` stands for seed and epoch.
  StreamedOrder(const BlockStreams& streams, uint64_t key) : streams_(streams), key_(key) {}

  // The record at `position`, 0 .. num_records-1.
  int64_t operator()(int64_t position);
  // The first and the last record of the block that the last record was in.
  std::pair<int64_t, int64_t> block() const;

 private:
  void go_to_window(int64_t place);

  const BlockStreams& streams_;
  const uint64_t key_;
  int64_t number_ = -1;  // of the stream
  std::shared_ptr<const RecordStream> stream_;
  size_t first_block_ = 0;  // of the window
  size_t end_block_ = 0;
  int64_t window_begin_ = 0;
  int64_t window_size_ = 0;
  size_t last_block_ = 0;  // that a record was taken of
  Permutation records_{1, 0};
};

}  // namespace ffkit
