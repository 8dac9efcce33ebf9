// JobPlace: the number of this process among those that share a work, by the environment that a job
// array or a launcher gives it. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ffkit/launch/launch.h>

namespace ffkit {

struct JobPlace {
  int64_t index = 0;  // 0 .. count-1
  int64_t count = 1;
  std::string found_by;  // the variables: "SLURM_ARRAY_TASK_ID and SLURM_PROCID"
};

// The part of a conversion that this process makes. What is asked: a job array of Slurm
// (SLURM_ARRAY_TASK_ID and its kin); then who started this process: torchrun, MPI's launchers,
// srun, or anything that sets RANK and WORLD_SIZE. In an array each task may have processes of its
// own: their numbers follow one another from task to task. Throws Error(invalid_argument) that
// names the variables when there are none, when they are incomplete, or when two launchers say
// different things. `otherwise`: what the user can do instead, "give part i/n".
JobPlace find_job_place(const Environment& environment, const std::string& otherwise);

// The share of each epoch that a loader of this process reads, where a launcher says that it is one
// of several. RANK and WORLD_SIZE come before all else: torch.distributed goes by them. Throws
// Error(invalid_argument) that names the variables when they are incomplete or cannot be; its words
// are those of Python's Loader.
std::optional<JobPlace> find_loader_place(const Environment& environment);
// How many of those processes share this machine's cores; 1 where nobody says. Throws likewise.
int loaders_on_node(const Environment& environment);

}  // namespace ffkit
