// How much memory this process may use for what it caches: physical memory, or less where a container's control group says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ffkit {

// The smallest limit of the control groups that `proc_cgroup` (/proc/self/cgroup) names, and of the groups they lie in; version 2
// (memory.max) and 1 (memory.limit_in_bytes) under `mount` (/sys/fs/cgroup). Nothing without one.
std::optional<int64_t> cgroup_memory_limit(const std::filesystem::path& proc_cgroup,
                                           const std::filesystem::path& mount);

// Physical memory or the limit of this process's control groups, whichever is smaller, in bytes. The page cache counts against both.
int64_t usable_memory_bytes();

}  // namespace ffkit
