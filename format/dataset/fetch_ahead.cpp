#include "format/dataset/fetch_ahead.h"

#include <algorithm>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

// The blocks are fetched that have the records of so many bytes ahead, as many as a link of 10 Gb/s
// brings in a fifth of a second, or those of a window, if that is more. A window is not needed
// before all of it is there. So the next one comes while this one is decoded; else the link would
// rest.
constexpr int64_t kAheadBytes = 256 << 20;
// To draw them takes time, which the first batch waits for: so many more for each batch.
constexpr int64_t kMostAnnouncedAtOnce = 64;
constexpr int64_t kMostAnnouncedAhead = 4096;

// Records whose blocks are on their way are read alone for the first batch, then a few at a time.
// They come twice. So where a batch is much of the epoch, it is this share at most; of a small set,
// whose bytes cost little, the larger one.
constexpr int64_t kMostComingShare = 32;
constexpr int64_t kMostComingShareOfSmall = 8;
constexpr int64_t kSmallBytes = 64 << 20;  // that are read twice, by all ranks together
constexpr int kFewComing = 4;

}  // namespace

bool has_local_shards(const Dataset& dataset) {
  for (int64_t i = 0; i < dataset.num_shards(); ++i) {
    if (!dataset.shard(i).is_local()) return false;
  }
  return true;
}

int64_t mean_record_bytes(const Dataset& dataset) {
  return dataset.manifest().record_bytes() / std::max<int64_t>(dataset.num_records(), 1);
}

FetchAhead::FetchAhead(const Dataset& dataset, const Reading& reading) : dataset_(dataset) {
  if (!reading.is_by_blocks || has_local_shards(dataset)) return;
  const int64_t batch_bytes = mean_record_bytes(dataset) * reading.batch_size;
  const int64_t ahead_bytes = std::max(kAheadBytes, reading.window_bytes);
  num_announced_ahead_ =
      std::clamp<int64_t>(ahead_bytes / std::max<int64_t>(batch_bytes, 1), 1, kMostAnnouncedAhead);
  const int64_t epoch_bytes = batch_bytes * reading.num_batches;
  const int64_t share =
      std::max(epoch_bytes / kMostComingShare,
               std::min(epoch_bytes / kMostComingShareOfSmall, kSmallBytes / reading.num_ranks));
  max_coming_bytes_ = std::min(batch_bytes, share);
}

void FetchAhead::begin_epoch(Epoch epoch) {
  epoch_ = std::move(epoch);
  num_announced_ = 0;
  announced_blocks_.clear();
}

void FetchAhead::go_to(int64_t batch) {
  if (num_announced_ahead_ == 0) return;
  const int64_t begin = std::max(num_announced_, batch);
  const int64_t end =
      std::min({batch + num_announced_ahead_, epoch_.num_batches, begin + kMostAnnouncedAtOnce});
  std::vector<int64_t> records;
  std::vector<Block> blocks;
  for (int64_t ahead = begin; ahead < end; ++ahead) {
    epoch_.records(ahead, records);
    for (const int64_t record : records) dataset_.will_locate(record);
    // A subset may have few records of a block.
    if (!dataset_.is_subset()) epoch_.blocks(ahead, blocks);
    for (const Block& block : blocks) announce(block);
    if (!blocks.empty()) continue;
    for (const int64_t record : records) dataset_.will_read(record);
  }
  num_announced_ = std::max(num_announced_, end);
}

// Has all records of a block fetched together, once.
void FetchAhead::announce(const Block& block) {
  if (!announced_blocks_.insert(block.first).second) return;
  try {
    const Dataset::Location first = dataset_.locate(block.first);
    const ShardReader& shard = dataset_.shard(first.shard_index);
    if (shard.is_local()) return;
    const RecordLocation last = dataset_.locate(block.last).record;
    shard.announce(first.record.offset, last.offset + last.stored_bytes - first.record.offset);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The read says what is wrong.
  }
}

bool FetchAhead::may_read(const ShardReader::OpenFile& file) const {
  return !file.is_coming || num_coming_ < kFewComing || coming_bytes_ <= max_coming_bytes_;
}

void FetchAhead::begin_read(const ShardReader::OpenFile& file, int64_t num_bytes) {
  if (!file.is_coming) return;
  ++num_coming_;
  coming_bytes_ += num_bytes;
}

void FetchAhead::end_read(const ShardReader::OpenFile& file) {
  if (file.is_coming) --num_coming_;
}

}  // namespace ffkit
