// Helpers: threads with nothing to do that take over pieces of what a decoding thread is at.
// DecodePool has them.
#pragma once

#include <cstdint>
#include <functional>

namespace ffkit {

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

}  // namespace ffkit
