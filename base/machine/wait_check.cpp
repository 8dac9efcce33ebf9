#include "machine/wait_check.h"

#include <shared_mutex>
#include <utility>

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

void check_wait(const Wait& wait) {
  const std::shared_lock lock(checks().mutex);
  for (const WaitCheck::Check& check : checks().all) check(wait);
}

}  // namespace ffkit
