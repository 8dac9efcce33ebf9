#include "decode/row_parts.h"

#include <algorithm>
#include <cstddef>

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

}  // namespace ffkit
