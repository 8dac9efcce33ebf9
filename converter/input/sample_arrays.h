// Numbers for tensor fields, in a sample's buffers.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>

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

}  // namespace ffkit
