// How the processes of a run meet: each finds the store at the meeting point, and rank 0 sees that
// all have come. Somebody is told meanwhile what is waited for.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <ffkit/launch/launch.h>

namespace ffkit {

// Tells other processes what this one waits for. Thread-safe.
class WaitedFor {
 public:
  // `what` completes "rank 1 of 2 has waited 15 s for ...". One that `concerns_all` processes alike
  // is said by one process of each machine.
  void set(const std::string& what, bool concerns_all = false);
  std::pair<std::string, bool> get() const;

 private:
  mutable std::mutex mutex_;
  std::string what_;
  bool concerns_all_ = false;
};

// Runs `action` on a thread of its own, and says on standard error every 15 s what it waits for.
// Throws what `action` throws, and Error(io) when it has not returned some seconds after the
// timeout of `place`, because a file system or a name server does not answer: then `action` goes on
// alone, so it owns all that it uses.
void wait_for_others(const ProcessPlace& place,
                     const std::function<void(const std::shared_ptr<WaitedFor>&)>& action);

// The store of the processes of `place`, empty, once all of them have found it. What another run
// left in a file is not seen. Throws Error(io) when they do not come within the timeout,
// Error(invalid_argument) when there can be no store.
c10::intrusive_ptr<c10d::Store> meet(const ProcessPlace& place);

// The first line of what libtorch says, without its backtrace and its place in the source.
std::string first_line_of(const std::exception& error);
[[noreturn]] void cannot_meet(const ProcessPlace& place, const std::string& reason);

}  // namespace ffkit
