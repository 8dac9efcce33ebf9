// ReadLoop, of epoch_run.h.
#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "base/make_error.h"
#include "epoch_run.h"
#include "io/shard_files.h"
#include "sampling/order_choice.h"
#include "threads/threads.h"

namespace ffkit {
namespace {

// Large enough for sequential reads to reach a disk's full rate, small enough that decoding starts
// at once.
constexpr int64_t kMaxMergedBytes = 512 << 10;

// Samples this small are handed over several at a time: one of 1 kB takes about 10 us, handing it
// over 1 us.
constexpr size_t kChunkBytes = 16 << 10;
// Reads this small complete faster than a thread is woken for one of them: several are waited for.
constexpr int64_t kSmallReadBytes = 16 << 10;

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
      goes_on_(parts.options.io.read_ahead_epochs),
      fetch_ahead_(parts.dataset, reading_of(parts.dataset, parts.sampler, num_steps_)) {
  const auto depth = static_cast<size_t>(parts.options.io.queue_depth);
  in_flight_.resize(depth);
  for (size_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
  fetch_ahead_.begin_epoch(fetched_epoch(parts.sampler, epoch_, start_, num_steps_));
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
  while (!free_slots_.empty() && !further_.empty()) {
    const FurtherRead further = further_.back();
    further_.pop_back();
    submit_further(further);
  }
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
  return next_step_ == num_steps_ && !goes_on_ && next_read_ == plan_.reads.size() &&
         further_.empty();
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
  slab->left_out.clear();
  slab->begin_rows(slab->size);
  parts_.watch.begin(parts_.planning_entry(), -1);  // indices are read here
  for (const int64_t record : slab->record_indices) {
    const int64_t in_split = parts_.dataset.index_in_split(record);
    for (const BatchField& field : parts_.batch.fields) field.decoder->will_read(in_split);
  }
  batch_->samples.assign(slab->record_indices.size(), {});
  batch_->num_left = slab->size;
  plan_reads(parts_.dataset, slab->record_indices, static_cast<int64_t>(parts_.files.alignment()),
             max_merged_bytes_, plan_, &parts_.field_reads);
  next_read_ = 0;
  ++next_step_;
  draw_ahead();
  fetch_ahead_.go_to(next_step_);
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
  fetch_ahead_.begin_epoch(fetched_epoch(parts_.sampler, epoch_, start_, num_steps_));
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
  const PlannedSample& first = plan_.samples[indices_in_batch.front()];
  if (!first.is_split && parts_.cached_reader.holds(file.descriptor, read.offset, read.num_bytes)) {
    for (const int64_t i : indices_in_batch) {
      PendingSample& sample = batch_->samples[i];
      sample.location = plan_.samples[i].location;
      sample.is_cached = true;
      add_to_chunk(batch_, i, static_cast<size_t>(sample.location.record.stored_bytes));
    }
    return true;
  }
  if (!fetch_ahead_.may_read(file)) return false;
  // A record in two steps gets room for all of it.
  const auto alignment = static_cast<int64_t>(parts_.files.alignment());
  const int64_t whole_end = first.location.record.offset + first.location.record.stored_bytes;
  const int64_t num_bytes =
      first.is_split ? round_up(whole_end, alignment) - read.offset : read.num_bytes;
  ReadBufferPool::Buffer* buffer = nullptr;
  try {
    buffer = parts_.buffers.acquire(num_bytes, static_cast<int>(read.count));
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
    sample.is_split = first.is_split;
    sample.location = location;
    sample.record = {buffer->data + (record.offset - read.offset),
                     static_cast<size_t>(record.stored_bytes)};
  }
  start(read, batch_, indices_in_batch, read.offset + read.num_bytes, buffer->data,
        std::move(file));
  return true;
}

// `end`: of the bytes that are needed, where the read is one of several for a record.
void ReadLoop::start(const PlannedRead& read, PendingBatch* batch,
                     std::span<const int64_t> indices_in_batch, int64_t end, std::byte* to,
                     ShardReader::OpenFile file) {
  const size_t slot = free_slots_.back();
  free_slots_.pop_back();
  ReadInFlight& started = in_flight_[slot];
  started.batch = batch;
  started.read = read;
  started.indices_in_batch.assign(indices_in_batch.begin(), indices_in_batch.end());
  started.end = end;
  fetch_ahead_.begin_read(file, read.num_bytes);
  started.shard = std::move(file);
  started.submitted_ns = now_ns();
  bytes_in_flight_ += read.num_bytes;
  parts_.watch.begin(slot, batch->slab->record_indices[started.indices_in_batch.front()]);
  parts_.engine->submit({.file = static_cast<int>(read.shard_index),
                         .offset = read.offset,
                         .num_bytes = static_cast<size_t>(read.num_bytes),
                         .buffer = to,
                         .tag = slot,
                         .shard = &started.shard});
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
      is_known
          ? fmt::format("reports {} bytes for a read of {} bytes", completion.result,
                        in_flight_[completion.tag].read.num_bytes)
          : fmt::format("completed the read {}, but this read is not in flight", completion.tag);
  throw error_of(ErrorCode::invalid_argument, "the read engine '{}' {}; correct the engine",
                 parts_.engine->description(), what);
}

void ReadLoop::complete(const ReadCompletion& completion) {
  check(completion);
  ReadInFlight& done = in_flight_[completion.tag];
  const PlannedRead& read = done.read;
  bytes_in_flight_ -= read.num_bytes;
  fetch_ahead_.end_read(done.shard);
  parts_.watch.end(completion.tag);
  parts_.stats.add_read(done.submitted_ns, completion.result, done.shard);
  for (int64_t i : done.indices_in_batch) {
    PendingSample& sample = done.batch->samples[i];
    const int64_t end =
        sample.is_split ? done.end : sample.location.record.offset + std::ssize(sample.record);
    const int64_t wanted = end - read.offset;
    if (completion.result < wanted) {
      sample.error = completion.error != nullptr
                         ? completion.error
                         : std::make_exception_ptr(read_error(
                               parts_.files.path(read.shard_index), sample.location, read.num_bytes,
                               completion.result, wanted - completion.result));
    }
    const bool is_head = sample.is_split && read.offset <= sample.location.record.offset;
    if (is_head && sample.error == nullptr) plan_rest(done.batch, i);
    end_read(done.batch, i);
  }
  done.batch = nullptr;
  done.shard.reader.reset();
  free_slots_.push_back(completion.tag);
}

// The head of the sample's record is there.
void ReadLoop::plan_rest(PendingBatch* batch, int64_t index_in_batch) {
  PendingSample& sample = batch->samples[index_in_batch];
  try {
    const int64_t record_index = batch->slab->record_indices[index_in_batch];
    for (const FieldReads::Range& range : parts_.field_reads.rest(record_index, sample.record)) {
      further_.push_back({batch, index_in_batch, range});
      ++sample.num_reads_left;
    }
  } catch (const Error&) {
    sample.error = std::current_exception();
  }
}

// Precondition: there is a free slot.
void ReadLoop::submit_further(const FurtherRead& further) {
  PendingSample& sample = further.batch->samples[further.index_in_batch];
  const RecordLocation& record = sample.location.record;
  const auto alignment = static_cast<int64_t>(parts_.files.alignment());
  const int64_t end = record.offset + further.range.end;
  const int64_t offset = round_down(record.offset + further.range.begin, alignment);
  const PlannedRead read{.shard_index = sample.location.shard_index,
                         .offset = offset,
                         .num_bytes = round_up(end, alignment) - offset,
                         .count = 1};
  ShardReader::OpenFile file;
  try {
    file = parts_.files.lease(static_cast<size_t>(read.shard_index), offset, read.num_bytes);
  } catch (const Error&) {  // as in submit()
    sample.error = std::current_exception();
    end_read(further.batch, further.index_in_batch);
    return;
  }
  const int64_t record_in_buffer = sample.record.data() - sample.buffer->data;
  start(read, further.batch, {&further.index_in_batch, 1}, end,
        sample.buffer->data + record_in_buffer + (offset - record.offset), std::move(file));
}

// One of the sample's reads has ended. After the last one, the sample is decoded.
void ReadLoop::end_read(PendingBatch* batch, int64_t index_in_batch) {
  PendingSample& sample = batch->samples[index_in_batch];
  if (--sample.num_reads_left == 0) add_to_chunk(batch, index_in_batch, sample.record.size());
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
