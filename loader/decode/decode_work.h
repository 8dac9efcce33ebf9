// What a decoding thread is given: some samples of a batch, and the threads that may help it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace ffkit {

// Threads with nothing to do that take over pieces of what a decoding thread is at.
// DecodePool has them.
class Helpers {
 public:
  // `worker` is that of the thread that runs the piece.
  using Piece = std::function<void(int worker, int64_t index)>;

  // Called by the decoding thread `worker`: calls piece(its worker, index) once for each index of 0
  // .. count-1, here and on threads that no chunk waits for, and returns when all are done. Pieces
  // begin in the order of their indices. `piece` must not throw.
  virtual void share(int worker, int64_t count, const Piece& piece) = 0;

 protected:
  ~Helpers() = default;
};

struct PendingBatch;

// Some samples of a batch, which one thread decodes one after the other.
struct SampleChunk {
  static constexpr size_t kMaxSamples = 16;

  PendingBatch* batch = nullptr;
  size_t count = 0;
  std::array<int32_t, kMaxSamples> indices_in_batch{};
};

}  // namespace ffkit
