// RowParts: where the parts of one sample's rows go (RowPartsDecoder), while several threads decode
// them. The parts before one must be counted or written before its own rows have a place.
//
// Thread-safe but for begin_sample() and num_rows(), which belong to the thread that has the
// sample, before and after the parts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace ffkit {

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

}  // namespace ffkit
