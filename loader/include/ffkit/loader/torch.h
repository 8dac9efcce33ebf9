// Batches as libtorch tensors, without a copy. Header only, for programs that have libtorch;
// nothing else of the loader needs it.
//
//   auto batch = std::make_shared<ffkit::Batch>(std::move(*loader.next()));
//   at::Tensor images = ffkit::images_tensor(batch);
//
// A tensor shares its batch; the slab is recycled when the last tensor is gone. Tensors may be used
// and dropped on any thread. An asynchronous (non_blocking) copy to a GPU reads the memory after
// the call. So pinned slabs must then come from a TensorSlabAllocator, such as that of
// trainer/device_prefetcher.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <ffkit/base/error.h>
#include <ffkit/loader/batch.h>
#include <ffkit/loader/slab_allocator.h>

namespace ffkit {

inline at::ScalarType scalar_type(DType dtype) {
  // In the order of DType.
  constexpr at::ScalarType kTypes[] = {at::kByte,   at::kChar,     at::kUInt16, at::kShort,
                                       at::kUInt32, at::kInt,      at::kUInt64, at::kLong,
                                       at::kHalf,   at::kBFloat16, at::kFloat,  at::kDouble};
  const auto number = static_cast<size_t>(dtype);
  if (number < std::size(kTypes)) return kTypes[number];
  throw Error(ErrorCode::unsupported, "libtorch does not have this dtype");
}

// Slabs that are tensors. The arrays of a batch are views of its slab's storage, and the slab goes
// back to libtorch when the last view is gone. So libtorch treats it like any tensor: its allocator
// of pinned memory knows the copies to a GPU that are under way, and waits for them before it
// reuses the memory.
class TensorSlabAllocator final : public SlabAllocator {
 public:
  // make(n): a tensor of n bytes, contiguous, on the CPU.
  explicit TensorSlabAllocator(std::function<at::Tensor(int64_t)> make) : make_(std::move(make)) {}

  void* allocate(size_t num_bytes) override {
    constexpr uintptr_t kAlignment = 4096;
    at::Tensor slab = make_(static_cast<int64_t>(num_bytes));
    auto address = reinterpret_cast<uintptr_t>(slab.data_ptr());
    if (address % kAlignment != 0) {  // pinned memory is of whole pages
      slab = make_(static_cast<int64_t>(num_bytes + kAlignment));
      address = reinterpret_cast<uintptr_t>(slab.data_ptr());
      address += (kAlignment - address % kAlignment) % kAlignment;
    }
    void* memory = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    if (memory == nullptr) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    slabs_.emplace(memory, std::move(slab));
    return memory;
  }
  void deallocate(void* slab, size_t /*num_bytes*/) noexcept override {
    at::Tensor dropped;  // goes without the lock
    const std::lock_guard lock(mutex_);
    const auto found = slabs_.find(slab);
    if (found == slabs_.end()) return;
    dropped = std::move(found->second);
    slabs_.erase(found);
  }
  [[nodiscard]] bool takes_back_each_batch() const override { return true; }

  // The slab of `data`, which belongs to a living batch; undefined for other memory.
  [[nodiscard]] at::Tensor slab_of(const void* data) const {
    const std::lock_guard lock(mutex_);
    auto behind = slabs_.upper_bound(const_cast<void*>(data));
    if (behind == slabs_.begin()) return {};
    const at::Tensor& slab = std::prev(behind)->second;
    const auto* end = static_cast<const std::byte*>(slab.data_ptr()) + slab.numel();
    return data < end ? slab : at::Tensor();
  }

 private:
  const std::function<at::Tensor(int64_t)> make_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<void*, at::Tensor> slabs_;
};

// An array of `batch`, as it lies in memory.
inline at::Tensor array_tensor(const std::shared_ptr<Batch>& batch, const BatchArray& array) {
  const at::IntArrayRef shape(array.shape.data(), array.shape.size());
  const at::ScalarType dtype = scalar_type(array.dtype);
  if (const auto* tensors = dynamic_cast<const TensorSlabAllocator*>(batch->allocator())) {
    const at::Tensor slab = tensors->slab_of(array.data);
    if (slab.defined()) {
      const auto offset = static_cast<const std::byte*>(array.data) -
                          static_cast<const std::byte*>(slab.data_ptr());
      return slab.narrow(0, offset, static_cast<int64_t>(array.num_bytes()))
          .view(dtype)
          .view(shape);
    }
  }
  return at::from_blob(
      array.data, shape, [batch](void*) {}, dtype);
}

// The pictures as [N,3,H,W]: contiguous, or for Layout::nhwc with the strides of channels_last.
// Error(not_found) without pictures.
inline at::Tensor images_tensor(const std::shared_ptr<Batch>& batch) {
  if (batch->images() == nullptr) {
    throw Error(ErrorCode::not_found, "the batch has no pictures",
                {.subject = ErrorSubject::field});
  }
  const std::array<int64_t, 4> shape = batch->shape();
  const at::Tensor images =
      array_tensor(batch, {.dtype = batch->dtype(), .shape = shape, .data = batch->images()});
  return batch->layout() == Layout::nchw ? images : images.permute({0, 3, 1, 2});
}

// The labels, [N] i64. Error(not_found) without labels.
inline at::Tensor labels_tensor(const std::shared_ptr<Batch>& batch) {
  if (batch->labels().empty()) {
    throw Error(ErrorCode::not_found, "the batch has no labels", {.subject = ErrorSubject::field});
  }
  // A tensor is writable in principle; so is the batch that it shares.
  auto* labels = const_cast<int64_t*>(batch->labels().data());
  const std::array<int64_t, 1> shape = {batch->size()};
  return array_tensor(batch, {.dtype = DType::i64, .shape = shape, .data = labels});
}

}  // namespace ffkit
