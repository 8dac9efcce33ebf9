#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include <ffkit/base/machine.h>

#include "machine/cgroup_limits.h"

namespace ffkit {
namespace {

// The C++ library's count is the machine's since glibc 2.36.
std::optional<int> num_cores_bound_to() {
  // The kernel refuses a mask that is shorter than its own.
  for (int num_cpus = CPU_SETSIZE; num_cpus <= 1 << 20; num_cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(static_cast<size_t>(num_cpus)), [](cpu_set_t* set) { CPU_FREE(set); });
    const size_t num_bytes = CPU_ALLOC_SIZE(static_cast<size_t>(num_cpus));
    if (mask == nullptr) break;
    if (sched_getaffinity(0, num_bytes, mask.get()) == 0) {
      return CPU_COUNT_S(num_bytes, mask.get());
    }
  }
  return std::nullopt;
}

Cores cores_of_process() {
  const int online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  return {.bound_to = num_cores_bound_to().value_or(online),
          .of_all = std::min(online, cgroup_cpuset_size().value_or(online)),
          .quota = cgroup_cpu_quota()};
}

}  // namespace

int usable_cores() {
  return usable_cores(cores_of_process());
}

int core_share(int local_world_size) {
  return core_share(cores_of_process(), local_world_size);
}

int64_t usable_memory_bytes() {
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
  return std::min(physical, cgroup_memory_limit().value_or(physical));
}

}  // namespace ffkit
