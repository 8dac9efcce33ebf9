#include "read_loop.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "base/make_error.h"
#include "io/cached_reader.h"

namespace ffkit {
namespace {

// Large enough for sequential reads to reach a disk's full rate, small enough that decoding starts
// at once.
constexpr int64_t kMaxMergedBytes = 512 << 10;

// Of a data set in a store: the blocks are fetched that have the records of so many bytes ahead,
// as many as a link of 10 Gb/s brings in a fifth of a second, or those of a window, if that is
// more. A window is not needed before all of it is there. So the next one comes while this one is
// decoded; else the link would rest.
constexpr int64_t kAheadBytes = 256 << 20;
// To draw them takes time, which the first batch waits for: so many more for each batch.
constexpr int64_t kMostAnnouncedAtOnce = 64;
constexpr int64_t kMostAnnouncedAhead = 4096;

// Of a data set in a store: records whose blocks are on their way are read alone for the first
// batch, then a few at a time. They come twice. So where a batch is much of the epoch, it is this
// share at most; of a small set, whose bytes cost little, the larger one.
constexpr int64_t kMostComingShare = 32;
constexpr int64_t kMostComingShareOfSmall = 8;
constexpr int64_t kSmallBytes = 64 << 20;  // that are read twice, by all ranks together
constexpr int kFewComing = 4;

// Samples this small are handed over several at a time: one of 1 kB takes about 10 us, handing it
// over 1 us.
constexpr size_t kChunkBytes = 16 << 10;
// Reads this small complete faster than a thread is woken for one of them: several are waited for.
constexpr int64_t kSmallReadBytes = 16 << 10;

// What this rank reads of the windows that are read at a time; 0 in other orders.
int64_t window_bytes_on_rank(const Sampler& sampler, int64_t record_bytes) {
  const SamplerOptions& options = sampler.options();
  if (options.order != Order::windowed) return 0;
  // As double, because what was asked for may be more than 64 bits hold.
  const double block_bytes =
      options.window_block_bytes > 0
          ? static_cast<double>(options.window_block_bytes)
          : static_cast<double>(options.window_block) * static_cast<double>(record_bytes);
  const double share = static_cast<double>(std::max<int64_t>(options.num_streams, 1)) /
                       static_cast<double>(options.world_size);
  const double bytes = block_bytes * static_cast<double>(options.window_blocks) * share;
  return static_cast<int64_t>(std::min(bytes, 1e15));
}

}  // namespace

int64_t num_batches_on_rank(const Sampler& sampler, int64_t start) {
  const int64_t num_steps = sampler.num_batches(start);
  return num_steps > 0 && sampler.num_samples(start, num_steps - 1) == 0 ? num_steps - 1
                                                                         : num_steps;
}

ReadLoop::ReadLoop(LoaderParts& parts, BatchQueue& queue, int64_t epoch, int64_t start)
    : parts_(parts),
      queue_(queue),
      max_merged_bytes_(
          std::min(kMaxMergedBytes, static_cast<int64_t>(parts.buffers.capacity_bytes() / 8))),
      epoch_(epoch),
      start_(start),
      num_steps_(num_batches_on_rank(parts.sampler, start)),
      goes_on_(parts.options.read_ahead_epochs) {
  const auto depth = static_cast<size_t>(parts.options.io.queue_depth);
  in_flight_.resize(depth);
  for (size_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
  // In a random order neighbours in time share no block: each would be fetched for one record.
  const Order order = parts.sampler.options().order;
  if (!parts.files.are_local() && (order == Order::windowed || order == Order::sequential)) {
    const int64_t num_records = std::max<int64_t>(parts.dataset.num_records(), 1);
    const int64_t record_bytes = parts.dataset.manifest().record_bytes() / num_records;
    const int64_t batch_bytes = record_bytes * parts.options.batch_size;
    const int64_t ahead_bytes =
        std::max(kAheadBytes, window_bytes_on_rank(parts.sampler, record_bytes));
    num_announced_ahead_ = std::clamp<int64_t>(ahead_bytes / std::max<int64_t>(batch_bytes, 1), 1,
                                               kMostAnnouncedAhead);
    const int64_t epoch_bytes = batch_bytes * num_steps_;
    max_coming_bytes_ =
        std::min(batch_bytes, std::max(epoch_bytes / kMostComingShare,
                                       std::min(epoch_bytes / kMostComingShareOfSmall,
                                                kSmallBytes / parts.sampler.options().world_size)));
  }
}

void ReadLoop::run(const std::atomic<bool>& stop) {
  try {
    while (!stop) {
      submit_more();
      hand_over_chunks();
      if (parts_.engine->num_in_flight() > 0) {
        set_reading(true);
        const int num_in_flight = parts_.engine->num_in_flight();
        const bool is_small = bytes_in_flight_ <= num_in_flight * kSmallReadBytes;
        const int wanted = is_small ? num_in_flight / 4 : 1;
        for (const ReadCompletion& completion : parts_.engine->wait(wanted)) {
          complete(completion);
        }
        hand_over_chunks();
      } else {
        set_reading(false);
        if (at_end()) return;
        parts_.io_wake.wait();
      }
    }
    drain();
  } catch (...) {
    drain();
    throw;
  }
}

void ReadLoop::set_reading(bool is_reading) {
  if (std::exchange(is_reading_, is_reading) != is_reading) {
    parts_.decode_pool.set_reading(is_reading);
  }
}

// Goes on until the queue is full, or the buffers are, or enough batches are open.
void ReadLoop::submit_more() {
  while (!free_slots_.empty()) {
    if (next_read_ == plan_.reads.size()) {
      hand_over_chunks();  // what the decoders read themselves they need not wait for
      if (!open_batch()) return;
      continue;
    }
    if (!submit(plan_.reads[next_read_])) return;
    ++next_read_;
  }
}

bool ReadLoop::at_end() const {
  return next_step_ == num_steps_ && !goes_on_ && next_read_ == plan_.reads.size();
}

bool ReadLoop::open_batch() {
  if (next_step_ == num_steps_ && !begin_next_epoch()) return false;
  batch_ = queue_.open();
  if (batch_ == nullptr) return false;
  batch_->slab = nullptr;
  BatchSlab* slab = parts_.slabs->acquire();
  batch_->slab = slab;
  draw(*slab);
  slab->size = std::ssize(slab->record_indices);
  name_sources(*slab);
  slab->epoch = epoch_;
  slab->step = next_step_;
  slab->position = parts_.sampler.first_position(start_, next_step_);
  slab->replacements.clear();
  slab->begin_rows(slab->size);
  parts_.watch.begin(parts_.planning_entry(), -1);  // indices are read here
  for (const int64_t record : slab->record_indices) {
    const int64_t in_split = parts_.dataset.index_in_split(record);
    for (const BatchField& field : parts_.batch.fields) field.decoder->will_read(in_split);
  }
  batch_->samples.assign(slab->record_indices.size(), {});
  batch_->num_left = slab->size;
  plan_reads(parts_.dataset, slab->record_indices, static_cast<int64_t>(parts_.files.alignment()),
             max_merged_bytes_, plan_);
  next_read_ = 0;
  ++next_step_;
  draw_ahead();
  announce_ahead();
  parts_.watch.end(parts_.planning_entry());
  return true;
}

// The records of batch next_step_. Their pages of the index are asked for together, where
// draw_ahead() has not done so.
void ReadLoop::draw(BatchSlab& slab) {
  if (ahead_.epoch == epoch_ && ahead_.step == next_step_) {
    slab.record_indices.swap(ahead_.records);
    slab.repetitions.swap(ahead_.repetitions);
    return;
  }
  parts_.sampler.batch(epoch_, start_, next_step_, slab.record_indices, slab.repetitions);
  for (const int64_t record : slab.record_indices) parts_.dataset.will_locate(record);
}

// Has the index pages of the batch after this one fetched while the records of this one are read,
// so that locating them blocks less.
void ReadLoop::draw_ahead() {
  const bool is_in_epoch = next_step_ < num_steps_;
  if (!is_in_epoch && !has_next_epoch()) return;
  ahead_.epoch = is_in_epoch ? epoch_ : epoch_ + 1;
  ahead_.step = is_in_epoch ? next_step_ : 0;
  parts_.sampler.batch(ahead_.epoch, is_in_epoch ? start_ : 0, ahead_.step, ahead_.records,
                       ahead_.repetitions);
  for (const int64_t record : ahead_.records) parts_.dataset.will_locate(record);
}

// Has the blocks fetched that batches of this epoch will want, and the shards opened behind them.
// A batch more each time, so that what is wanted first is asked for first.
void ReadLoop::announce_ahead() {
  if (num_announced_ahead_ == 0) return;
  const int64_t begin = std::max(num_announced_, next_step_);
  const int64_t end =
      std::min({next_step_ + num_announced_ahead_, num_steps_, begin + kMostAnnouncedAtOnce});
  Drawn drawn;
  std::vector<Sampler::Block> blocks;
  for (int64_t step = begin; step < end; ++step) {
    parts_.sampler.batch(epoch_, start_, step, drawn.records, drawn.repetitions);
    for (const int64_t record : drawn.records) parts_.dataset.will_locate(record);
    // A subset may have few records of a block.
    if (!parts_.dataset.is_subset()) parts_.sampler.blocks(epoch_, start_, step, blocks);
    for (const Sampler::Block& block : blocks) announce(block);
    if (!blocks.empty()) continue;
    for (const int64_t record : drawn.records) parts_.dataset.will_read(record);
  }
  num_announced_ = std::max(num_announced_, end);
}

// Has all records of a block fetched together, once.
void ReadLoop::announce(const Sampler::Block& block) {
  if (!announced_blocks_.insert(block.first).second) return;
  try {
    const Dataset::Location first = parts_.dataset.locate(block.first);
    const ShardReader& shard = parts_.dataset.shard(first.shard_index);
    if (shard.is_local()) return;
    const RecordLocation last = parts_.dataset.locate(block.last).record;
    shard.announce(first.record.offset, last.offset + last.stored_bytes - first.record.offset);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The read says what is wrong.
  }
}

void ReadLoop::name_sources(BatchSlab& slab) const {
  slab.sources.resize(slab.record_indices.size());  // zeros
  if (parts_.dataset.num_sources() == 1) return;
  for (size_t i = 0; i < slab.sources.size(); ++i) {
    slab.sources[i] = static_cast<int32_t>(parts_.dataset.source_of(slab.record_indices[i]));
  }
}

bool ReadLoop::has_next_epoch() const {
  return goes_on_ && num_batches_on_rank(parts_.sampler, 0) > 0 &&
         epoch_ < std::numeric_limits<int64_t>::max();
}

// False when there is none.
bool ReadLoop::begin_next_epoch() {
  goes_on_ = has_next_epoch();
  if (!goes_on_) return false;
  ++epoch_;
  start_ = 0;
  num_steps_ = num_batches_on_rank(parts_.sampler, 0);
  next_step_ = 0;
  num_announced_ = 0;
  announced_blocks_.clear();
  return true;
}

// False when there is no buffer for it now.
bool ReadLoop::submit(const PlannedRead& read) {
  const auto indices_in_batch =
      std::span(plan_.indices_in_batch).subspan(read.first, static_cast<size_t>(read.count));
  if (read.num_bytes == 0) {
    hand_over_unread(indices_in_batch, plan_.samples[indices_in_batch.front()].error);
    return true;
  }
  ShardReader::OpenFile file;
  try {
    file = parts_.files.lease(static_cast<size_t>(read.shard_index), read.offset, read.num_bytes);
  } catch (const Error&) {  // it was closed since its index was read, and is not there any more
    hand_over_unread(indices_in_batch, std::current_exception());
    return true;
  }
  if (parts_.cached_reader.holds(file.descriptor, read.offset, read.num_bytes)) {
    for (const int64_t i : indices_in_batch) {
      PendingSample& sample = batch_->samples[i];
      sample.location = plan_.samples[i].location;
      sample.is_cached = true;
      add_to_chunk(batch_, i, static_cast<size_t>(sample.location.record.stored_bytes));
    }
    return true;
  }
  // Where the link is slower than the consumer, records that are read alone would take it from the
  // blocks that have them, and come twice.
  if (file.is_coming && num_coming_ >= kFewComing && coming_bytes_ > max_coming_bytes_)
    return false;
  ReadBufferPool::Buffer* buffer = nullptr;
  try {
    buffer = parts_.buffers.acquire(read.num_bytes, static_cast<int>(read.count));
  } catch (const std::bad_alloc&) {
    hand_over_unread(indices_in_batch, std::make_exception_ptr(read_error(
                                           parts_.files.path(read.shard_index),
                                           plan_.samples[indices_in_batch.front()].location,
                                           read.num_bytes, -ENOMEM, 0)));
    return true;
  }
  if (buffer == nullptr) return false;
  for (int64_t i : indices_in_batch) {
    const Dataset::Location& location = plan_.samples[i].location;
    const RecordLocation& record = location.record;
    PendingSample& sample = batch_->samples[i];
    sample.buffer = buffer;
    sample.is_shared = read.count > 1;
    sample.location = location;
    sample.record = {buffer->data + (record.offset - read.offset),
                     static_cast<size_t>(record.stored_bytes)};
  }
  const size_t slot = free_slots_.back();
  free_slots_.pop_back();
  ReadInFlight& started = in_flight_[slot];
  started.batch = batch_;
  started.read = read;
  started.indices_in_batch.assign(indices_in_batch.begin(), indices_in_batch.end());
  started.buffer = buffer;
  started.is_coming = file.is_coming;
  if (file.is_coming) {
    ++num_coming_;
    coming_bytes_ += read.num_bytes;
  }
  started.shard = std::move(file);
  started.submitted_ns = now_ns();
  bytes_in_flight_ += read.num_bytes;
  parts_.watch.begin(slot, batch_->slab->record_indices[started.indices_in_batch.front()]);
  parts_.engine->submit({.file = static_cast<int>(read.shard_index),
                         .offset = read.offset,
                         .num_bytes = static_cast<size_t>(read.num_bytes),
                         .buffer = buffer->data,
                         .tag = slot,
                         .shard = &started.shard});
  return true;
}

// Records without bytes, or with an error.
void ReadLoop::hand_over_unread(std::span<const int64_t> indices_in_batch,
                                const std::exception_ptr& error) {
  for (const int64_t i : indices_in_batch) {
    PendingSample& sample = batch_->samples[i];
    sample.location = plan_.samples[i].location;
    sample.error = error;
    add_to_chunk(batch_, i, 0);
  }
}

// An engine of the user's own may be wrong.
void ReadLoop::check(const ReadCompletion& completion) const {
  const bool is_known =
      completion.tag < in_flight_.size() && in_flight_[completion.tag].batch != nullptr;
  if (is_known && completion.result <= in_flight_[completion.tag].read.num_bytes) return;
  const std::string what =
      is_known ? fmt::format("says that it read {} bytes of {}", completion.result,
                             in_flight_[completion.tag].read.num_bytes)
               : fmt::format("completed the read {}, which is not in flight", completion.tag);
  throw error_of(ErrorCode::invalid_argument, "the read engine '{}' {}; correct the engine",
                 parts_.engine->description(), what);
}

void ReadLoop::complete(const ReadCompletion& completion) {
  check(completion);
  ReadInFlight& done = in_flight_[completion.tag];
  const PlannedRead& read = done.read;
  bytes_in_flight_ -= read.num_bytes;
  if (done.is_coming) --num_coming_;
  parts_.watch.end(completion.tag);
  parts_.stats.num_reads.fetch_add(1, std::memory_order_relaxed);
  parts_.stats.read_ns.fetch_add(now_ns() - done.submitted_ns, std::memory_order_relaxed);
  if (completion.result > 0) {
    parts_.stats.bytes_read.fetch_add(completion.result, std::memory_order_relaxed);
    if (!parts_.files.are_local() && done.shard.descriptor < 0) {
      parts_.stats.bytes_from_store.fetch_add(completion.result, std::memory_order_relaxed);
    }
  }
  for (int64_t i : done.indices_in_batch) {
    PendingSample& sample = done.batch->samples[i];
    const auto record_offset = read.offset + (sample.record.data() - done.buffer->data);
    const int64_t wanted = record_offset - read.offset + std::ssize(sample.record);
    if (completion.result < wanted) {
      sample.error = completion.error != nullptr
                         ? completion.error
                         : std::make_exception_ptr(read_error(
                               parts_.files.path(read.shard_index), sample.location, read.num_bytes,
                               completion.result, wanted - completion.result));
    }
    add_to_chunk(done.batch, i, sample.record.size());
  }
  done.batch = nullptr;
  done.shard.reader.reset();
  free_slots_.push_back(completion.tag);
}

void ReadLoop::add_to_chunk(PendingBatch* batch, int64_t index_in_batch, size_t num_bytes) {
  if (!chunks_.empty()) {
    SampleChunk& last = chunks_.back();
    if (last.batch == batch && last.count < SampleChunk::kMaxSamples &&
        last_chunk_bytes_ + num_bytes <= kChunkBytes) {
      last.indices_in_batch[last.count++] = static_cast<int32_t>(index_in_batch);
      last_chunk_bytes_ += num_bytes;
      return;
    }
  }
  chunks_.push_back({batch, 1, {static_cast<int32_t>(index_in_batch)}});
  last_chunk_bytes_ = num_bytes;
}

void ReadLoop::hand_over_chunks() {
  if (chunks_.empty()) return;
  parts_.decode_pool.submit(chunks_);
  chunks_.clear();
}

// The kernel or the reading threads may write to the buffers until the last completion.
void ReadLoop::drain() noexcept {
  set_reading(false);
  try {
    while (parts_.engine->num_in_flight() > 0) parts_.engine->wait(1);
    for (size_t i = 0; i <= parts_.planning_entry(); ++i) parts_.watch.end(i);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The engine is broken and says so again to whoever uses it next; it waits for what is left
    // when it is destroyed.
  }
}

}  // namespace ffkit
