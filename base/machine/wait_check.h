// Waiting for what another machine does, which may take minutes: what ends such a wait before its
// answer comes, as Ctrl-C does.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <list>

namespace ffkit {

struct Wait {
  std::chrono::milliseconds waited{0};
  bool is_over = false;  // the answer is there
};

// While it lives, every thread that waits for a store calls `check` five times a second, and when
// the wait is over. What `check` throws ends the wait. Thread-safe; `check` must be short and may
// not wait for a store.
class WaitCheck {
 public:
  using Check = std::function<void(const Wait&)>;

  explicit WaitCheck(Check check);
  ~WaitCheck();
  WaitCheck(const WaitCheck&) = delete;
  WaitCheck& operator=(const WaitCheck&) = delete;

 private:
  std::list<Check>::iterator place_;
};

inline constexpr std::chrono::milliseconds kBetweenChecks{200};
// A store that answers gets the time for it, also from who was told to stop: so it can clean up.
inline constexpr std::chrono::milliseconds kTimeToAnswer{800};

// A check that ends waits with Error(cancelled) once `is_asked` says so: of who was told to stop.
WaitCheck::Check ends_waits_once(std::function<bool()> is_asked);

// The same for the waits of this thread alone, for work that is given up. After the first wait that
// it ends, the others end at once.
WaitCheck::Check ends_own_waits_once(std::function<bool()> is_asked);

// Calls every check that lives, and throws what one throws.
void check_wait(const Wait& wait);

// Waits for what does not write to the caller's memory, which a wait that ends would leave.
template <typename Future>
void wait_checked(const Future& future) {
  Wait wait;
  while (future.wait_for(kBetweenChecks) == std::future_status::timeout) {
    wait.waited += kBetweenChecks;
    check_wait(wait);
  }
  wait.is_over = true;
  check_wait(wait);
}

}  // namespace ffkit
