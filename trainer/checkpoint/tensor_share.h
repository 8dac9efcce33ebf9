// TensorShare: which numbers of a whole tensor a process has, or a file. Plain values and pure
// functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ffkit {

// A part of a whole tensor: an interval of indices in each dimension.
struct TensorBox {
  std::vector<int64_t> begin, size;
};

struct TensorShare {
  std::vector<int64_t> whole_shape;
  int64_t dimension = 0;  // along which the boxes lie behind each other in the share's tensor
  // >= 1; they do not overlap, and have the same sizes in the other dimensions.
  std::vector<TensorBox> boxes;

  // All of a tensor of this shape.
  static TensorShare of_all(std::vector<int64_t> shape);
  // The shape and size of the tensor that holds the share.
  std::vector<int64_t> shape() const;
  int64_t num_elements() const;
};

// A tensor of a process with its place in the whole one of that name.
struct SharedTensor {
  std::string name;
  at::Tensor tensor;  // of share.shape()
  TensorShare share;
};

// Whether both have some numbers of the same whole tensor.
bool overlap(const TensorShare& a, const TensorShare& b);

// Copies what both have; returns how many numbers. The tensors are those of the shares.
int64_t copy_share(const at::Tensor& from, const TensorShare& from_share, const at::Tensor& to,
                   const TensorShare& to_share);

}  // namespace ffkit
