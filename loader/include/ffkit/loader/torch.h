// Batches as libtorch tensors, without a copy. Header only, for programs that have libtorch; nothing else of the loader needs it.
//
//   auto batch = std::make_shared<ffkit::Batch>(std::move(*loader.next()));
//   at::Tensor images = ffkit::images_tensor(batch);   // shares the batch: when the last tensor goes, the slab is recycled
//
// The tensors may be used and dropped on any thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include <ffkit/format/error.h>
#include <ffkit/loader/batch.h>

namespace ffkit {

inline at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return at::kByte;
    case DType::i8:
      return at::kChar;
    case DType::u16:
      return at::kUInt16;
    case DType::i16:
      return at::kShort;
    case DType::u32:
      return at::kUInt32;
    case DType::i32:
      return at::kInt;
    case DType::u64:
      return at::kUInt64;
    case DType::i64:
      return at::kLong;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
  }
  throw Error(ErrorCode::unsupported, "libtorch has no such dtype");
}

// An array of `batch`, as it lies in memory.
inline at::Tensor array_tensor(const std::shared_ptr<Batch>& batch, const BatchArray& array) {
  return at::from_blob(
      array.data, at::IntArrayRef(array.shape.data(), array.shape.size()), [batch](void*) {},
      scalar_type(array.dtype));
}

// The images as [N,3,H,W]: contiguous, or for Layout::nhwc with the strides of channels_last. Error(not_found) without images.
inline at::Tensor images_tensor(const std::shared_ptr<Batch>& batch) {
  if (batch->images() == nullptr) throw Error(ErrorCode::not_found, "the batch has no images");
  const auto [n, a, b, c] = batch->shape();
  const auto release = [batch](void*) {};
  if (batch->layout() == Layout::nchw) {
    return at::from_blob(batch->images(), {n, a, b, c}, release, scalar_type(batch->dtype()));
  }
  return at::from_blob(batch->images(), {n, c, a, b}, {a * b * c, 1, b * c, c}, release,
                       scalar_type(batch->dtype()));
}

// The labels, [N] i64. Error(not_found) without labels.
inline at::Tensor labels_tensor(const std::shared_ptr<Batch>& batch) {
  if (batch->labels().empty()) throw Error(ErrorCode::not_found, "the batch has no labels");
  // A tensor is writable in principle; so is the batch that it shares.
  auto* labels = const_cast<int64_t*>(batch->labels().data());
  return at::from_blob(
      labels, {batch->size()}, [batch](void*) {}, at::kLong);
}

}  // namespace ffkit
