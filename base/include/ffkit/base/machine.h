// The share of the machine that this process may use: less than the whole if the process is bound
// to some cores (taskset, Slurm) or runs in a container.
#pragma once

#include <cstdint>

namespace ffkit {

// Number of cores that this process is bound to, or the quota of its control groups, rounded up, if
// that is less; >= 1.
int usable_cores();

// Cores for one of `local_world_size` processes on this machine, >= 1: its part of the cores for
// all of them (the machine's, or the cpuset and quota of the control group), but not more than it
// is bound to.
int core_share(int local_world_size);

// Physical memory or the limit of this process's control groups, whichever is smaller, in bytes.
// Both include the page cache.
int64_t usable_memory_bytes();

}  // namespace ffkit
