// SampleChunk: some samples of a batch, which one thread decodes one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ffkit {

struct PendingBatch;

struct SampleChunk {
  static constexpr size_t kMaxSamples = 16;

  PendingBatch* batch = nullptr;
  size_t count = 0;
  std::array<int32_t, kMaxSamples> indices_in_batch{};
};

}  // namespace ffkit
