// The fuzz targets in this program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace ffkit::fuzzing {

struct Target {
  const char* name;
  int (*test)(const uint8_t* data, size_t size);
  // Null: the target has no mutator of its own.
  size_t (*mutate)(uint8_t* data, size_t size, size_t max_size, unsigned seed);
};

std::span<const Target> targets();

}  // namespace ffkit::fuzzing
