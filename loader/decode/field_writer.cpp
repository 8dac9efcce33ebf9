#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "batch/slab_pool.h"
#include "decode/chunk_decoder.h"
#include "fields/decoder_base.h"
#include "views/view_decoders.h"

namespace ffkit {

void RowParts::begin_sample(int64_t num_parts) {
  num_begun_ = 0;
  num_rows_.assign(num_parts, -1);
}

void RowParts::begin(int64_t part) {
  std::lock_guard lock(mutex_);
  num_begun_ = std::max(num_begun_, part + 1);
}

// -1: not yet known.
int64_t RowParts::sum_before(int64_t part) const {
  int64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(part); ++i) {
    if (num_rows_[i] < 0) return -1;
    sum += num_rows_[i];
  }
  return sum;
}

std::optional<int64_t> RowParts::first_row_uncounted(int64_t part) const {
  std::lock_guard lock(mutex_);
  if (num_begun_ > part + 1) return std::nullopt;
  const int64_t first = sum_before(part);
  return first < 0 ? std::nullopt : std::optional(first);
}

int64_t RowParts::first_row(int64_t part, int64_t num_rows) {
  std::unique_lock lock(mutex_);
  num_rows_[part] = num_rows;
  counted_.notify_all();
  counted_.wait(lock, [&] { return sum_before(part) >= 0; });
  return sum_before(part);
}

void RowParts::end(int64_t part, int64_t num_rows) {
  std::lock_guard lock(mutex_);
  int64_t& known = num_rows_[part];
  if (known >= 0) return;
  known = num_rows;
  counted_.notify_all();
}

int64_t RowParts::num_rows() const {
  std::lock_guard lock(mutex_);
  return sum_before(std::ssize(num_rows_));
}

// Where the fields of a record go, and the worker that has it.
struct FieldWriter::Sample {
  const RecordView& record;
  const SampleKey& key;
  BatchSlab& slab;
  int64_t index_in_batch;
  int worker;
  int64_t record_index;
};

// Counts the time that a thread decodes, of good samples and bad ones, from its construction to its
// destruction. Waiting is no decoding.
class FieldWriter::Stopwatch {
 public:
  explicit Stopwatch(StatsCounters& stats) : stats_(stats) {}
  ~Stopwatch() {
    stats_.transform_ns.fetch_add(work_.transform_ns, std::memory_order_relaxed);
    stats_.decode_ns.fetch_add(elapsed_ns() - work_.transform_ns - waited_ns_,
                               std::memory_order_relaxed);
    if (waited_ns_ != 0) stats_.busy_ns.fetch_sub(waited_ns_, std::memory_order_relaxed);
    if (work_.num_reads == 0) return;
    stats_.num_reads.fetch_add(work_.num_reads, std::memory_order_relaxed);
    stats_.bytes_read.fetch_add(work_.bytes_read, std::memory_order_relaxed);
    stats_.read_ns.fetch_add(work_.read_wait_ns, std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  int64_t elapsed_ns() const { return now_ns() - begin_; }
  void add(const FieldDecoder::Work& work) {
    work_.transform_ns += work.transform_ns;
    work_.num_reads += work.num_reads;
    work_.bytes_read += work.bytes_read;
    work_.read_wait_ns += work.read_wait_ns;
    if (work.resized_grey_of_16_bits) stats_.resized_grey_of_16_bits = true;
    waited_ns_ += work.read_wait_ns;
  }
  void add_wait(int64_t wait_ns) { waited_ns_ += wait_ns; }

 private:
  StatsCounters& stats_;
  const int64_t begin_ = now_ns();
  FieldDecoder::Work work_;
  int64_t waited_ns_ = 0;
};

// Takes from a scratch what its decoder did, also where that threw.
class FieldWriter::WorkTaker {
 public:
  WorkTaker(FieldDecoder::Scratch* scratch, Stopwatch& watch) : scratch_(scratch), watch_(watch) {}
  ~WorkTaker() {
    if (scratch_ != nullptr) watch_.add(std::exchange(scratch_->work, {}));
  }
  WorkTaker(const WorkTaker&) = delete;
  WorkTaker& operator=(const WorkTaker&) = delete;

 private:
  FieldDecoder::Scratch* scratch_;
  Stopwatch& watch_;
};

std::byte* FieldWriter::place_of(const Sample& sample, const SlabField& field) {
  return sample.slab.memory + field.offset +
         static_cast<size_t>(sample.index_in_batch) * field.bytes_per_sample;
}

FieldWriter::FieldWriter(const Dataset& dataset, const SamplerOptions& sampler,
                         std::vector<BatchField> fields, const SlabLayout& layout, int num_threads,
                         const std::vector<bool>* readable, StatsCounters& stats)
    : dataset_(dataset),
      schema_(dataset.schema()),
      is_chain_(dataset.num_sources() > 1),
      sampler_(sampler),
      fields_(std::move(fields)),
      layout_(layout),
      readable_(readable),
      stats_(stats),
      workers_(num_threads) {
  // The undivided fields first: a long one among them is then not what all wait for at the end.
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (layout_.fields[i].num_parts == 1) pieces_.push_back({.field = i});
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const int64_t num_parts = layout_.fields[i].num_parts;
    if (num_parts == 1) continue;
    has_parts_ = true;
    for (int64_t part = 0; part < num_parts; ++part) pieces_.push_back({.field = i, .part = part});
  }
  for (Worker& worker : workers_) {
    for (const BatchField& field : fields_) worker.scratch.push_back(field.decoder->make_scratch());
    share_views(worker.scratch);
    worker.rows = std::vector<RowParts>(fields_.size());
  }
}

void FieldWriter::write(Helpers& helpers, int worker, BatchSlab& slab, int64_t index_in_batch,
                        std::span<const std::byte> record, int64_t record_index) {
  const FieldMapping* mapping = is_chain_ ? dataset_.field_mapping(record_index) : nullptr;
  const RecordView view(schema_, record, {}, mapping, readable_);
  SampleKey key{sampler_.seed, slab.epoch, random_record(sampler_, record_index)};
  if (!slab.repetitions.empty()) {
    key.record_index += slab.repetitions[index_in_batch] * dataset_.num_records();
  }
  const Sample sample{.record = view,
                      .key = key,
                      .slab = slab,
                      .index_in_batch = index_in_batch,
                      .worker = worker,
                      .record_index = record_index};
  if (has_parts_) {
    write_shared(helpers, sample);
    return;
  }
  Stopwatch watch(stats_);
  for (const Piece& piece : pieces_) write_piece(sample, piece, of(worker), watch);
}

// The error is that of the first bad piece, whichever thread came first.
void FieldWriter::write_shared(Helpers& helpers, const Sample& sample) {
  std::vector<RowParts>& rows = of(sample.worker).rows;
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (layout_.fields[i].row_parts != nullptr) rows[i].begin_sample(layout_.fields[i].num_parts);
  }
  std::atomic<int64_t> pieces_ns{0};
  std::mutex mutex;  // guards what follows
  int64_t failed_piece = -1;
  std::exception_ptr error;
  const int64_t begin = now_ns();
  helpers.share(sample.worker, std::ssize(pieces_), [&](int piece_worker, int64_t index) {
    Stopwatch watch(stats_);
    try {
      write_piece(sample, pieces_[index], of(piece_worker), watch);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (failed_piece < 0 || index < failed_piece) {
        failed_piece = index;
        error = std::current_exception();
      }
    }
    pieces_ns += watch.elapsed_ns();
  });
  // The caller counts the time that this thread was here; it worked less, and others helped.
  stats_.busy_ns.fetch_add(pieces_ns - (now_ns() - begin), std::memory_order_relaxed);
  if (error != nullptr) std::rethrow_exception(error);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const SlabField& field = layout_.fields[i];
    if (field.row_parts == nullptr || field.num_parts == 1) continue;
    finish_rows(sample, i, 0, std::min(rows[i].num_rows(), field.max_rows));
  }
}

void FieldWriter::write_piece(const Sample& sample, const Piece& piece, Worker& worker,
                              Stopwatch& watch) {
  FieldDecoder::Scratch* scratch = worker.scratch[piece.field].get();
  const WorkTaker taker(scratch, watch);
  if (scratch != nullptr) scratch->record_index = sample.record_index;
  const SlabField& field = layout_.fields[piece.field];
  try {
    write_piece_to(sample, piece, scratch, watch, place_of(sample, field));
    if (scratch != nullptr && scratch->work.num_items_left_out > 0) {
      count_left_out(scratch->work, sample.record_index);
    }
  } catch (const PlacedFailure& failure) {
    failure.happened_in(fmt::format("in the batch's field '{}' of record {} of {}", field.name,
                                    dataset_.index_in_split(sample.record_index),
                                    dataset_.path().string()));
    throw;
  }
}

void FieldWriter::count_left_out(const FieldDecoder::Work& work, int64_t record_index) {
  if (stats_.num_items_left_out.fetch_add(work.num_items_left_out) > 0) return;
  const std::lock_guard lock(stats_.mutex);
  stats_.first_left_out =
      fmt::format("record {}: {}", dataset_.index_in_split(record_index), work.left_out);
}

void FieldWriter::write_piece_to(const Sample& sample, const Piece& piece,
                                 FieldDecoder::Scratch* scratch, Stopwatch& watch, std::byte* out) {
  const FieldDecoder& decoder = *fields_[piece.field].decoder;
  const SlabField& field = layout_.fields[piece.field];
  if (field.num_parts != 1 && field.row_parts != nullptr) {
    write_row_part(sample, piece, scratch, watch);
  } else if (field.num_parts != 1) {
    field.parts->decode_part(sample.record, sample.key, piece.part, scratch, out);
  } else if (!field.has_rows) {
    decoder.decode(sample.record, sample.key, scratch, out);
  } else if (field.texts != nullptr) {
    const std::string_view text = field.texts->decode_text(sample.record, sample.key, scratch);
    sample.slab.texts[piece.field]->add(sample.index_in_batch, text);
    finish_rows(sample, piece.field, 0, std::ssize(text));
  } else if (field.lists != nullptr) {
    for (int64_t list = 0; list < field.num_lists; ++list, out += field.bytes_per_list) {
      const int64_t num_rows =
          field.lists->decode_list(sample.record, sample.key, list, scratch, out);
      check_row_count(field.name, num_rows, field.max_rows);
      finish_rows(sample, piece.field, list, num_rows);
    }
  } else {
    const int64_t num_rows = field.rows->decode_rows(sample.record, sample.key, scratch, out);
    check_row_count(field.name, num_rows, field.max_rows);
    finish_rows(sample, piece.field, 0, num_rows);
  }
}

void FieldWriter::write_row_part(const Sample& sample, const Piece& piece,
                                 FieldDecoder::Scratch* scratch, Stopwatch& watch) {
  const SlabField& field = layout_.fields[piece.field];
  const RowPartsDecoder& decoder = *field.row_parts;
  RowParts& rows = of(sample.worker).rows[piece.field];
  rows.begin(piece.part);
  try {
    decoder.begin_part(sample.record, sample.key, piece.part, scratch);
    std::optional<int64_t> num_counted;
    std::optional<int64_t> first = rows.first_row_uncounted(piece.part);
    if (!first) {
      num_counted = decoder.count_rows(sample.record, sample.key, piece.part, scratch);
      check_counted_rows(field.name, piece.part, *num_counted);
      const int64_t begin_wait = now_ns();
      first = rows.first_row(piece.part, *num_counted);
      watch.add_wait(now_ns() - begin_wait);
    }
    const int64_t begin = std::min(*first, decoder.max_rows());
    const int64_t room = decoder.max_rows() - begin;
    const int64_t num_rows = decoder.write_rows(
        sample.record, sample.key, piece.part, scratch, room,
        place_of(sample, field) + static_cast<size_t>(begin) * field.bytes_per_row);
    check_part_rows(field.name, piece.part, num_rows, room, num_counted);
    rows.end(piece.part, num_rows);
  } catch (...) {
    rows.end(piece.part, 0);
    throw;
  }
}

// `num_rows` rows of a list of the sample are there.
void FieldWriter::finish_rows(const Sample& sample, size_t field, int64_t list, int64_t num_rows) {
  const SlabField& layout = layout_.fields[field];
  const int64_t list_in_batch = sample.index_in_batch * layout.num_lists + list;
  sample.slab.row_offsets[field][static_cast<size_t>(list_in_batch) + 1] = num_rows;
  if (layout.is_ragged) return;
  const size_t row_bytes = static_cast<size_t>(num_rows) * layout.bytes_per_row;
  std::byte* begin = place_of(sample, layout) + static_cast<size_t>(list) * layout.bytes_per_list;
  std::memset(begin + row_bytes, 0, layout.bytes_per_list - row_bytes);
}

}  // namespace ffkit
