#include "sampling/group_order.h"

#include <cstddef>

namespace ffkit {

GroupOrder::GroupOrder(const std::vector<int64_t>& starts, int64_t num_records, uint64_t key)
    : starts_(starts), num_records_(num_records), groups_(std::ssize(starts), key) {
  const int64_t size = num_records / std::ssize(starts);
  bool is_common = num_records % std::ssize(starts) == 0;
  for (int64_t i = 0; i < std::ssize(starts) && is_common; ++i) {
    is_common = starts[i] == i * size;
  }
  if (is_common) common_size_ = size;
  go_to(0, 0);
}

void GroupOrder::go_to(int64_t place, int64_t begin) {
  const auto group = static_cast<size_t>(groups_(place));
  place_ = place;
  begin_ = begin;
  first_ = starts_[group];
  size_ = (group + 1 < starts_.size() ? starts_[group + 1] : num_records_) - first_;
}

int64_t GroupOrder::operator()(int64_t position) {
  if (common_size_ > 0) {
    const int64_t place = position / common_size_;
    if (place != place_) go_to(place, place * common_size_);
  } else {
    if (position < begin_) go_to(0, 0);
    while (position >= begin_ + size_) go_to(place_ + 1, begin_ + size_);
  }
  return first_ + position - begin_;
}

}  // namespace ffkit
