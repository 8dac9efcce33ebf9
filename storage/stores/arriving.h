// Arriving: bytes that a store is asked for and that somebody waits for. They live as long as their
// read, so that the wait may end before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/machine/wait_check.h"

namespace ffkit {

struct Arriving {
  explicit Arriving(size_t num_bytes) : bytes(num_bytes), arrived(promise.get_future().share()) {}

  // Throws what went wrong, or what ends the wait.
  void wait() const {
    wait_checked(arrived);
    arrived.get();
  }
  // Waits.
  void copy(std::span<std::byte> into) const {
    wait();
    std::ranges::copy(bytes, into.begin());
  }

  std::vector<std::byte> bytes;
  std::string version;  // of what has come, where it was asked for
  std::promise<void> promise;
  std::shared_future<void> arrived;
};

// The ObjectStore::Done of it.
inline auto tells(const std::shared_ptr<Arriving>& arriving) {
  return [arriving](const std::exception_ptr& error) {
    if (error == nullptr) {
      arriving->promise.set_value();
    } else {
      arriving->promise.set_exception(error);
    }
  };
}

}  // namespace ffkit
