// The limits of control groups, of version 2, 1 and both. `proc_cgroup` is /proc/self/cgroup, which
// names the groups, and `mount` /sys/fs/cgroup, where they are. Limits that cannot be read, and
// "max", are none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ffkit {

struct CgroupPlace {
  std::filesystem::path proc_cgroup = "/proc/self/cgroup";
  std::filesystem::path mount = "/sys/fs/cgroup";
};

// The smallest of the group and those it lies in: memory.max or memory.limit_in_bytes, in bytes.
std::optional<int64_t> cgroup_memory_limit(const CgroupPlace& place = {});
// Likewise of cpu.max, or cpu.cfs_quota_us by cpu.cfs_period_us, in cores.
std::optional<double> cgroup_cpu_quota(const CgroupPlace& place = {});
// Number of cores in the cpuset of the innermost group that has one.
std::optional<int> cgroup_cpuset_size(const CgroupPlace& place = {});

// How many numbers a list such as "0-3,7" has; nothing for what is no such list.
std::optional<int> count_in_list(const std::string& list);

// What usable_cores() and core_share() make of it: cores that the process is bound to, and that
// there are for all.
struct Cores {
  int bound_to = 1;
  int of_all = 1;
  std::optional<double> quota;
};
int usable_cores(const Cores& cores);
int core_share(const Cores& cores, int local_world_size);

}  // namespace ffkit
