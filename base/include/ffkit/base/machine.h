// The share of the machine that this process may use: less than all of it where the process is
// bound to some cores (taskset, Slurm) or runs in a container.
#pragma once

#include <cstdint>

namespace ffkit {

// Cores: those that this process is bound to, or the quota of its control groups, rounded up, where
// that is less; >= 1.
int usable_cores();

// Cores for one of the `local_world_size` processes of this machine, >= 1: its part of those that
// are there for all (the machine's, or the cpuset and the quota of the control group), but no more
// than it is bound to.
int core_share(int local_world_size);

// Physical memory or the limit of this process's control groups, whichever is smaller, in bytes.
// The page cache counts against both.
int64_t usable_memory_bytes();

}  // namespace ffkit
