#include "allocation/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// "max", and what cannot be read, are no limit.
std::optional<int64_t> read_limit(const fs::path& file) {
  int64_t limit = 0;
  if (std::ifstream(file) >> limit) return limit;
  return std::nullopt;
}

// The smallest limit in `file` of the group and those around it, up to the mount. In a container the path may be the host's, which
// cannot be seen; the container's own group is then what is mounted.
void take_smallest(const fs::path& mount, const std::string& group, const char* file,
                   std::optional<int64_t>& smallest) {
  fs::path relative = fs::path(group).relative_path().lexically_normal();
  while (true) {
    if (const auto limit = read_limit(mount / relative / file)) {
      smallest = std::min(*limit, smallest.value_or(*limit));
    }
    if (!relative.has_relative_path()) return;
    relative = relative.parent_path();
  }
}

// Whether `list`, separated by commas, has `name`.
bool has_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::optional<int64_t> cgroup_memory_limit(const fs::path& proc_cgroup, const fs::path& mount) {
  std::optional<int64_t> smallest;
  std::ifstream groups(proc_cgroup);
  // cgroups(7): hierarchy-ID:controller-list:cgroup-path; version 2 has ID 0 and no list.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      take_smallest(mount, group, "memory.max", smallest);
      take_smallest(mount / "unified", group, "memory.max", smallest);
    } else if (has_controller(controllers, "memory")) {
      take_smallest(mount / "memory", group, "memory.limit_in_bytes", smallest);
    }
  }
  return smallest;
}

int64_t usable_memory_bytes() {
  const int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
  const auto limit = cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  return std::min(physical, limit.value_or(physical));
}

}  // namespace ffkit
