#include "batch/slab_texts.h"

#include <cstring>

namespace ffkit {

SlabTexts::SlabTexts() {
  added_.reserve(kSlabAlignment);
  make_room_to_join(kSlabAlignment);
}

void SlabTexts::begin(int64_t num_samples) {
  added_.clear();
  begins_.assign(num_samples, 0);
}

void SlabTexts::add(int64_t index_in_batch, std::string_view text) {
  const std::lock_guard lock(mutex_);
  const size_t begin = added_.size();
  added_.insert(added_.end(), text.begin(), text.end());
  // Here, where memory that is missing is an error of the sample.
  make_room_to_join(added_.capacity());
  begins_[index_in_batch] = begin;
}

void SlabTexts::join(std::span<const int64_t> offsets) {
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::memcpy(joined_.get() + offsets[i], added_.data() + begins_[i],
                static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
}

void SlabTexts::copy_joined(const SlabTexts& other, size_t num_bytes) {
  make_room_to_join(num_bytes);
  std::memcpy(joined_.get(), other.joined_.get(), num_bytes);
}

void SlabTexts::make_room_to_join(size_t num_bytes) {
  if (num_bytes <= joined_capacity_) return;
  joined_.reset(
      static_cast<std::byte*>(::operator new (num_bytes, std::align_val_t{kSlabAlignment})));
  joined_capacity_ = num_bytes;
}

}  // namespace ffkit
