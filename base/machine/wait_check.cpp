#include "machine/wait_check.h"

#include <shared_mutex>
#include <thread>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {
namespace {

struct Checks {
  std::shared_mutex mutex;
  std::list<WaitCheck::Check> all;
};

// Never destroyed: threads may wait when the process ends.
Checks& checks() {
  static auto* const checks = new Checks;
  return *checks;
}

}  // namespace

WaitCheck::WaitCheck(Check check) {
  const std::scoped_lock lock(checks().mutex);
  place_ = checks().all.insert(checks().all.end(), std::move(check));
}

WaitCheck::~WaitCheck() {
  const std::scoped_lock lock(checks().mutex);
  checks().all.erase(place_);
}

WaitCheck::Check ends_waits_once(std::function<bool()> is_asked) {
  return [is_asked = std::move(is_asked)](const Wait& wait) {
    if (wait.is_over || wait.waited < kTimeToAnswer || !is_asked()) return;
    throw Error(ErrorCode::cancelled, "stopped on request");
  };
}

WaitCheck::Check ends_own_waits_once(std::function<bool()> is_asked) {
  return [is_asked = std::move(is_asked), thread = std::this_thread::get_id(),
          has_ended_one = false](const Wait& wait) mutable {
    if (std::this_thread::get_id() != thread || wait.is_over || !is_asked()) return;
    if (!has_ended_one && wait.waited < kTimeToAnswer) return;
    has_ended_one = true;
    throw Error(ErrorCode::cancelled, "stopped on request");
  };
}

void check_wait(const Wait& wait) {
  const std::shared_lock lock(checks().mutex);
  for (const WaitCheck::Check& check : checks().all) check(wait);
}

}  // namespace ffkit
