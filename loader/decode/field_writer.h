// FieldWriter: from a record to its place in the slab: all fields of a sample, in pieces that idle
// threads take over where a field decoder has parts; and what that took of time and reads, for
// LoaderStatistics.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/sampler.h>

#include "batch/slab_layout.h"
#include "decode/decode_work.h"
#include "threads/stats_counters.h"

namespace ffkit {

// Where the parts of one sample's rows go (RowPartsDecoder), while several threads decode
// them. The parts before one must be counted or written before its own rows have a place.
//
// Thread-safe but for begin_sample() and num_rows(), which belong to the thread that has the
// sample, before and after the parts.
class RowParts {
 public:
  void begin_sample(int64_t num_parts);

  // Parts are taken by threads in their order, and every one that is taken begins and ends.
  void begin(int64_t part);
  // The first row of `part`, when the parts before it have ended and no later one waits to know its
  // own: `part` need not be counted. Else nothing.
  std::optional<int64_t> first_row_uncounted(int64_t part) const;
  // Says that `part` has `num_rows` rows, waits until that is known of all parts before it, and
  // returns its first row.
  int64_t first_row(int64_t part, int64_t num_rows);
  // `num_rows` were written; 0 where decoding failed, so that later parts do not wait for it.
  void end(int64_t part, int64_t num_rows);

  // Of all parts. Precondition: they have ended.
  int64_t num_rows() const;

 private:
  int64_t sum_before(int64_t part) const;

  mutable std::mutex mutex_;         // guards what follows
  std::condition_variable counted_;  // a further part
  int64_t num_begun_ = 0;
  std::vector<int64_t> num_rows_;  // by part; -1: not yet known
};

class FieldWriter {
 public:
  // `layout` is that of `fields`. What is given by reference must outlive the writer.
  FieldWriter(const Dataset& dataset, const SamplerOptions& sampler, std::vector<BatchField> fields,
              const SlabLayout& layout, int num_threads, StatsCounters& stats);

  // Writes sample `index_in_batch` of `slab` from `record`, which is record `record_index`. Called
  // by the decoding thread `worker`, with whose `helpers` it shares the pieces. Throws what the
  // decoder of the first bad piece throws.
  void write(Helpers& helpers, int worker, BatchSlab& slab, int64_t index_in_batch,
             std::span<const std::byte> record, int64_t record_index);

 private:
  // What can be decoded on its own: a field, or a part of one whose decoder has parts.
  struct Piece {
    size_t field = 0;
    int64_t part = 0;
  };
  struct Worker {
    std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch;  // by field; may be null
    std::vector<RowParts> rows;  // by field; of the sample that this worker shares with others
  };
  class Stopwatch;
  class WorkTaker;
  struct Sample;

  static std::byte* place_of(const Sample& sample, const SlabField& field);
  Worker& of(int worker) { return workers_[worker]; }
  void write_shared(Helpers& helpers, const Sample& sample);
  void write_piece(const Sample& sample, const Piece& piece, Worker& worker, Stopwatch& watch);
  void write_piece_to(const Sample& sample, const Piece& piece, FieldDecoder::Scratch* scratch,
                      Stopwatch& watch, std::byte* out);
  void write_row_part(const Sample& sample, const Piece& piece, FieldDecoder::Scratch* scratch,
                      Stopwatch& watch);
  void finish_rows(const Sample& sample, size_t field, int64_t list, int64_t num_rows);

  const Dataset& dataset_;
  const Schema& schema_;
  const bool is_chain_;
  const SamplerOptions& sampler_;
  const std::vector<BatchField> fields_;
  const SlabLayout& layout_;
  StatsCounters& stats_;
  std::vector<Piece> pieces_;  // of a sample
  bool has_parts_ = false;     // a field has more than one
  std::vector<Worker> workers_;
};

}  // namespace ffkit
