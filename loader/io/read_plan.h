// ReadPlan: the reads that fetch the records of one batch. Neighbouring records, as in sequential
// and windowed order, share a read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/loader/slab_allocator.h>

#include "io/field_reads.h"

namespace ffkit {

inline int64_t round_down(int64_t value, int64_t multiple) {
  return value / multiple * multiple;
}
inline int64_t round_up(int64_t value, int64_t multiple) {
  return round_down(value + multiple - 1, multiple);
}

struct PlannedSample {
  Dataset::Location location;
  // Read in two steps (FieldReads), of which the first is planned: a read of its own.
  bool is_split = false;
  std::exception_ptr error;  // set when the record cannot be located
};

// The samples plan.indices_in_batch[first .. first+count-1] lie in num_bytes at offset. 0 bytes:
// one sample that has an error, or records without bytes (FFRecord v1), of which there is nothing
// to read.
struct PlannedRead {
  int64_t shard_index = 0;
  int64_t offset = 0;
  int64_t num_bytes = 0;
  int64_t first = 0;
  int64_t count = 0;
};

struct ReadPlan {
  std::vector<PlannedSample> samples;  // by index in the batch
  std::vector<PlannedRead> reads;      // in the order of the first sample that each of them serves
  std::vector<int64_t> indices_in_batch;  // each once, read by read, ascending within a read

  // Memory of plan_reads() from batch to batch: where the samples lie, and the reads in the order
  // of the disk.
  struct Place {
    int64_t shard_index;
    int64_t offset;
    int64_t index_in_batch;
    bool operator<(const Place& other) const {
      return shard_index != other.shard_index ? shard_index < other.shard_index
                                              : offset < other.offset;
    }
  };
  std::vector<Place> places;
  std::vector<PlannedRead> merged;  // of places
  // By index in the batch: the read in `merged` whose first sample it is, or -1.
  std::vector<int64_t> read_of;
};

// Plans the reads of `records` (record numbers) into `plan`, replacing what it held. Offsets and
// lengths become multiples of `alignment`. Records that lie close together share a read, wherever
// they stand in the batch: reads are merged up to `max_merged_bytes` and over gaps of less than a
// page. `fields` says which records are read in two steps; null: none.
void plan_reads(const Dataset& dataset, std::span<const int64_t> records, int64_t alignment,
                int64_t max_merged_bytes, ReadPlan& plan, const FieldReads* fields = nullptr);

// ReadBufferPool: the memory of reads, from submission to the end of decoding: one ring of a fixed
// size.
//
//      | free | in use, oldest ... newest | free |
//        recycled from here, in order ◀┘ └▶ taken here
//
// A buffer is shared by the samples of one read and freed by the last of them. acquire() belongs to
// the I/O thread, release() to any thread.
class ReadBufferPool {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    size_t num_bytes = 0;
    int num_users = 0;
    bool in_ring = true;
  };

  // Room for `capacity_bytes` in at most `max_buffers` buffers; each starts at a multiple of
  // `alignment`, a power of two <= 4096.
  ReadBufferPool(size_t capacity_bytes, size_t max_buffers, size_t alignment);
  ~ReadBufferPool();
  ReadBufferPool(const ReadBufferPool&) = delete;
  ReadBufferPool& operator=(const ReadBufferPool&) = delete;

  size_t capacity_bytes() const { return capacity_; }
  // The ring itself.
  std::span<std::byte> memory() const { return {memory_, capacity_}; }

  // A buffer for a read that `num_users` samples share, or null while there is no room; release()
  // then tells when there is. A read larger than the ring gets memory of its own once nothing else
  // is in use.
  Buffer* acquire(size_t num_bytes, int num_users);
  // One user of `buffer` is done with it. True when the I/O thread, refused by acquire() before,
  // should try again. It is told only when a good part of the ring is free, so that it wakes seldom
  // and finds much to do.
  bool release(Buffer* buffer);
  // Frees all buffers. Precondition: no read or sample uses them any more.
  void reset();

 private:
  // The offset in the ring of that many bytes; nothing where there is no room.
  std::optional<size_t> place_for(size_t num_bytes) const;
  void recycle();

  const size_t capacity_;
  const size_t alignment_;
  std::shared_ptr<SlabAllocator> allocator_;
  std::byte* memory_;

  std::mutex mutex_;             // guards what follows
  std::vector<Buffer> buffers_;  // a ring too, oldest first from first_
  size_t first_ = 0;
  size_t num_buffers_ = 0;
  size_t begin_ = 0;  // of the oldest buffer
  // behind the newest buffer; the ring is in use from begin_ to end_, around its end when end_ <=
  // begin_
  size_t end_ = 0;
  size_t refused_bytes_ = 0;  // what acquire() could not give; 0: nothing
};

}  // namespace ffkit
