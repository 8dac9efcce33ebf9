// DeviceBatch: a batch of named fields as tensors on the device that trains.
//
//   batch.field("image")            [N,3,H,W], as the loader wrote it
//   batch.field("boxes")            [total rows, ...] of a field of rows, ragged
//   batch.row_offsets("boxes")      [N + 1] i64 on the CPU: the rows of sample i are
//                                   offsets[i] .. offsets[i + 1] - 1
//
// A plain value. Tensors on the CPU use the loader's memory, which returns to the loader when the
// last of them is destroyed.
// May change in any version (docs/stability.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

struct DeviceField {
  std::string name;
  at::Tensor values;  // pictures as [N,3,H,W] with the strides of channels_last for Layout::nhwc
  // [N + 1] i64 on the CPU, as Batch::row_offsets(), if the field has rows (RowsDecoder,
  // TextDecoder). Undefined if all samples have one shape.
  at::Tensor row_offsets = {};
};

struct DeviceBatch {
  int64_t size = 0;                     // samples
  std::vector<DeviceField> fields;      // in the order of Batch::field()
  std::vector<int64_t> record_indices;  // [size] numbers of the records; empty for noise
  double mix_lambda = 1;                // Batch::mix_lambda()

  bool has(std::string_view name) const;
  // Throw Error(not_found) that lists all fields. row_offsets() also throws it for a field without
  // rows.
  const at::Tensor& field(std::string_view name) const;
  const at::Tensor& row_offsets(std::string_view name) const;
  // Puts other values into a field. Throws as field().
  void replace(std::string_view name, at::Tensor values);
};

}  // namespace ffkit
