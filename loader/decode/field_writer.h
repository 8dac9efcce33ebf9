// FieldWriter: from a record to its place in the slab: all fields of a sample, in pieces that idle
// threads take over where a field decoder has parts; and what that took of time and reads, for
// LoaderStatistics.
//
// Thread-safe as long as no two threads are the same `worker` at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/sampler.h>

#include "batch/slab_layout.h"
#include "decode/helpers.h"
#include "decode/row_parts.h"
#include "threads/stats_counters.h"

namespace ffkit {

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
