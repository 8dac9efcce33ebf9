// A sample's buffers: numbers for tensor fields, and the limit of its bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/source.h>

#include "base/make_error.h"

namespace ffkit {

template <typename T>
std::span<T> new_array(SampleBuffers& buffers, size_t count) {
  const std::span<std::byte> bytes = buffers.bytes(count * sizeof(T));
  return {reinterpret_cast<T*>(bytes.data()), count};
}

// std::copy() is a memmove; std::ranges::copy() of what is const is a loop in libstdc++ 12.
template <typename T>
std::span<const T> array_copy(SampleBuffers& buffers, std::span<const T> values) {
  const std::span<T> copy = new_array<T>(buffers, values.size());
  std::copy(values.begin(), values.end(), copy.begin());
  return copy;
}

template <typename T>
void set_array(RecordBuilder& record, size_t field, std::span<const T> values,
               std::vector<int64_t> shape) {
  record.set_tensor(field, {dtype_of<T>(), std::move(shape), std::as_bytes(values)});
}

// A copy of `values`.
template <typename T>
void set_copy(RecordBuilder& record, size_t field, std::span<const T> values,
              std::vector<int64_t> shape, SampleBuffers& buffers) {
  set_array<T>(record, field, array_copy<T>(buffers, values), std::move(shape));
}

// The limit of a sample's bytes, which --max-sample-bytes sets.

// Throws Error(unsupported), at `where`, for a sample with more than `max_bytes`.
inline void require_sample_size(int64_t num_bytes, int64_t max_bytes,
                                const ErrorContext& where = {}) {
  if (num_bytes <= max_bytes) return;
  throw error_of(ErrorCode::unsupported,
                 "the sample has {} bytes, more than the limit of {} bytes; remove the sample, or "
                 "raise the limit with {}",
                 num_bytes, max_bytes, option_name("max_sample_bytes"))
      .within(where);
}

}  // namespace ffkit
