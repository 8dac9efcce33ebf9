#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>

#include <ffkit/base/machine.h>

#include "machine/cgroup_limits.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Whether `list`, separated by commas, has `name`.
bool has_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

// Calls visit(folder, version) for the group and those around it, innermost first, up to the mount,
// until it returns true. In a container the path may be the host's, which cannot be seen; the
// container's own group is then what is mounted.
template <typename Visit>
void visit_upwards(const fs::path& mount, const std::string& group, int version,
                   const Visit& visit) {
  fs::path relative = fs::path(group).relative_path().lexically_normal();
  while (!visit(mount / relative, version) && relative.has_relative_path()) {
    relative = relative.parent_path();
  }
}

// The same for all groups of this process that a controller is in.
template <typename Visit>
void visit_groups(const CgroupPlace& place, const std::string& controller, const Visit& visit) {
  std::ifstream groups(place.proc_cgroup);
  // cgroups(7): hierarchy-ID:controller-list:cgroup-path; version 2 has ID 0 and no list.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      visit_upwards(place.mount, group, 2, visit);
      visit_upwards(place.mount / "unified", group, 2, visit);
    } else if (has_controller(controllers, controller)) {
      visit_upwards(place.mount / controller, group, 1, visit);
      if (controllers != controller) visit_upwards(place.mount / controllers, group, 1, visit);
    }
  }
}

template <typename T>
std::optional<T> read_number(const fs::path& file) {
  T number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

template <typename T>
void take_smaller(std::optional<T> value, std::optional<T>& smallest) {
  if (value) smallest = std::min(*value, smallest.value_or(*value));
}

std::optional<double> quota_of(const fs::path& folder, int version) {
  double quota = 0;
  double period = 0;
  if (version == 2) {
    // "max 100000" has no number.
    if (!(std::ifstream(folder / "cpu.max") >> quota >> period)) return std::nullopt;
  } else {
    quota = read_number<double>(folder / "cpu.cfs_quota_us").value_or(-1);
    period = read_number<double>(folder / "cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Rounded up; as good as endless where there is none.
int whole_quota(const Cores& cores) {
  return static_cast<int>(std::clamp(std::ceil(cores.quota.value_or(1e6)), 1.0, 1e6));
}

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

std::optional<int64_t> cgroup_memory_limit(const CgroupPlace& place) {
  std::optional<int64_t> smallest;
  visit_groups(place, "memory", [&](const fs::path& folder, int version) {
    const char* file = version == 2 ? "memory.max" : "memory.limit_in_bytes";
    take_smaller(read_number<int64_t>(folder / file), smallest);
    return false;
  });
  return smallest;
}

std::optional<double> cgroup_cpu_quota(const CgroupPlace& place) {
  std::optional<double> smallest;
  visit_groups(place, "cpu", [&](const fs::path& folder, int version) {
    take_smaller(quota_of(folder, version), smallest);
    return false;
  });
  return smallest;
}

std::optional<int> cgroup_cpuset_size(const CgroupPlace& place) {
  std::optional<int> found;
  visit_groups(place, "cpuset", [&](const fs::path& folder, int) {
    for (const char* file : {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"}) {
      std::string list;
      if (!found && std::getline(std::ifstream(folder / file) >> std::ws, list)) {
        found = count_in_list(list);
      }
    }
    return found.has_value();
  });
  return found;
}

std::optional<int> count_in_list(const std::string& list) {
  int count = 0;
  const char* at = list.data();
  const char* const end = at + list.find_last_not_of(" \n") + 1;
  if (at == end) return std::nullopt;
  while (true) {
    std::array<int, 2> range = {};
    auto result = std::from_chars(at, end, range[0]);
    if (result.ec != std::errc()) return std::nullopt;
    range[1] = range[0];
    if (result.ptr != end && *result.ptr == '-') {
      result = std::from_chars(result.ptr + 1, end, range[1]);
      if (result.ec != std::errc() || range[1] < range[0]) return std::nullopt;
    }
    count += range[1] - range[0] + 1;
    if (result.ptr == end) return count;
    if (*result.ptr != ',') return std::nullopt;
    at = result.ptr + 1;
  }
}

int usable_cores(const Cores& cores) {
  return std::max(1, std::min(cores.bound_to, whole_quota(cores)));
}

int core_share(const Cores& cores, int local_world_size) {
  const int share = std::min(cores.of_all, whole_quota(cores)) / std::max(local_world_size, 1);
  return std::clamp(share, 1, usable_cores(cores));
}

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
