#include <utility>

#include <ffkit/loader/batch.h>

#include "slab_pool.h"

namespace ffkit {

Batch::Batch() = default;

Batch::Batch(std::shared_ptr<Slab> slab) : slab_(std::move(slab)) {}

Batch::~Batch() {
  if (slab_ != nullptr) slab_->pool->give_back(slab_.get());
}

Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  // The old slab leaves with `dropped`, also when a batch is moved onto itself.
  Batch dropped(std::move(other));
  slab_.swap(dropped.slab_);
  return *this;
}

int64_t Batch::size() const {
  return slab_ == nullptr ? 0 : slab_->size;
}
const void* Batch::images() const {
  return slab_ == nullptr ? nullptr : slab_->images;
}
void* Batch::images() {
  return slab_ == nullptr ? nullptr : slab_->images;
}

std::span<const int64_t> Batch::labels() const {
  if (slab_ == nullptr) return {};
  return std::span(slab_->labels).first(static_cast<size_t>(slab_->size));
}

std::span<const int64_t> Batch::record_indices() const {
  if (slab_ == nullptr) return {};
  return slab_->record_indices;
}

std::array<int64_t, 4> Batch::shape() const {
  if (slab_ == nullptr) return {};
  const int64_t s = slab_->image_size;
  if (slab_->layout == Layout::nchw) return {slab_->size, 3, s, s};
  return {slab_->size, s, s, 3};
}

DType Batch::dtype() const {
  return slab_ == nullptr ? DType::f32 : slab_->dtype;
}
Layout Batch::layout() const {
  return slab_ == nullptr ? Layout::nchw : slab_->layout;
}
int64_t Batch::epoch() const {
  return slab_ == nullptr ? 0 : slab_->epoch;
}
int64_t Batch::step() const {
  return slab_ == nullptr ? 0 : slab_->step;
}
int64_t Batch::num_replaced() const {
  return slab_ == nullptr ? 0 : slab_->num_replaced;
}

}  // namespace ffkit
