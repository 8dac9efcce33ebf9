// The size of an array in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ffkit/format/schema.h>

namespace ffkit {

// Of numbers of `dtype`; {} is one number.
inline size_t array_bytes(DType dtype, std::span<const int64_t> shape) {
  size_t num_bytes = size_of(dtype);
  for (const int64_t extent : shape) num_bytes *= static_cast<size_t>(extent);
  return num_bytes;
}

}  // namespace ffkit
