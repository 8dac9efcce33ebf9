// Processes that an mpirun started, or what else tells its processes their places as one does:
// PALS, Flux, jsrun.
#pragma once

#include <ffkit/trainer/launch.h>

#include "launch/variables.h"

namespace ffkit {

// Whether the variables are those of a launcher of this kind that no other program sets for it: a
// Slurm that has started its daemons does not count then.
bool is_started_by_mpi(const Variables& variables);
// Whether they could be, where it is not Slurm that has set them.
bool may_be_started_by_mpi(const Variables& variables);
// Throws where a variable gives this process a number among others, but none says how many they
// are.
void refuse_rank_alone(const Variables& variables);

// The place of a process that was started so. `needs_meeting_point`: no other one is given.
ProcessPlace mpi_place(const Variables& variables, bool needs_meeting_point);

}  // namespace ffkit
