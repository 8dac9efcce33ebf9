// RowListsDecoder: a decoder of several lists of rows for each sample, such as the boxes of each
// copy of a view.
//
//   ragged   [rows of sample 0 list 0, sample 0 list 1, .. sample 1 list 0, .., shape()...]
//   padded   [N, copies(), max_rows(), shape()...]
//
// Batch::row_offsets() of N samples has an entry for each list of each of them, and the end.
#pragma once

#include <cstdint>

#include <ffkit/loader/field_decoder.h>

namespace ffkit {

class RowListsDecoder : public FieldDecoder {
 public:
  // shape() is the shape of one row. None of these may change.
  // 0: one list, for which a padded array has no dimension.
  [[nodiscard]] virtual int64_t copies() const = 0;
  [[nodiscard]] virtual int64_t max_rows() const = 0;  // of each list
  [[nodiscard]] virtual RowLayout layout() const = 0;
  [[nodiscard]] int64_t num_lists() const { return copies() == 0 ? 1 : copies(); }

  // As RowsDecoder::decode_rows(), of list 0 .. num_lists()-1; `out` is where the list begins.
  virtual int64_t decode_list(const RecordView& record, const SampleKey& key, int64_t list,
                              Scratch* scratch, void* out) const = 0;
  // Of each list the rows, and zeros behind them up to max_rows().
  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const final;
};

}  // namespace ffkit
