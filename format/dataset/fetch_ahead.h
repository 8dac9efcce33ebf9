// FetchAhead: what of a data set in a store is fetched before it is read, for one who reads it in
// batches: how far ahead of them, and how much of what is on its way may be read alone. Of local
// files nothing is.
//
//   begin_epoch()   the batches that will come
//   go_to(batch)    has fetched what this batch and the next ones will want
//   may_read() ─▶ begin_read() ─▶ end_read()   of each read, with the file that it is from
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

// Whether all shards are local files.
bool has_local_shards(const Dataset& dataset);
// What a record takes in the shards, in the mean.
int64_t mean_record_bytes(const Dataset& dataset);

class FetchAhead {
 public:
  // How a data set is read.
  struct Reading {
    // In a random order neighbours in time share no block: each would be fetched for one record.
    bool is_by_blocks = false;
    int64_t batch_size = 1;
    int64_t num_batches = 0;  // of the first epoch
    int64_t num_ranks = 1;
    // What of the records whose order is mixed is read at a time; 0: they come one after the other.
    int64_t window_bytes = 0;
  };
  // Neighbours in one shard, which are fetched together.
  struct Block {
    int64_t first = 0;  // number of its first record, and of its last one
    int64_t last = 0;
  };
  struct Epoch {
    int64_t num_batches = 0;
    // The records of a batch, 0 .. num_batches-1, and the blocks that they are in: none where each
    // is fetched for itself. Both fill `out`.
    std::function<void(int64_t batch, std::vector<int64_t>& out)> records;
    std::function<void(int64_t batch, std::vector<Block>& out)> blocks;
  };

  // `dataset` must outlive this.
  FetchAhead(const Dataset& dataset, const Reading& reading);

  void begin_epoch(Epoch epoch);
  // Has the blocks fetched that batches of this epoch from `batch` on will want, and the shards
  // opened behind them. A batch more each time, so that what is wanted first is asked for first.
  void go_to(int64_t batch);

  // False: these bytes are on their way, and other reads of such are waited for first. Where the
  // link is slower than the consumer, records that are read alone would take it from the blocks
  // that have them, and come twice.
  bool may_read(const ShardReader::OpenFile& file) const;
  void begin_read(const ShardReader::OpenFile& file, int64_t num_bytes);
  void end_read(const ShardReader::OpenFile& file);

 private:
  void announce(const Block& block);

  const Dataset& dataset_;
  Epoch epoch_;
  // How many batches ahead records are announced, and up to which batch of this epoch they were.
  int64_t num_announced_ahead_ = 0;
  int64_t num_announced_ = 0;
  std::set<int64_t> announced_blocks_;  // of this epoch, by their first record
  // Reads of what was announced and is not there yet: in flight, and the bytes of all so far.
  int num_coming_ = 0;
  int64_t coming_bytes_ = 0;
  int64_t max_coming_bytes_ = 0;  // without a limit of those in flight
};

}  // namespace ffkit
