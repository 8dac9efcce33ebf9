// The place of a process that a launcher started, by the variables of that launcher. What is read
// of the environment depends on `needs_meeting_point`: false where --dist-init-method names one.
#pragma once

#include <ffkit/launch/launch.h>

#include "variables.h"

namespace ffkit {

ProcessPlace torchrun_place(const Variables& v, bool needs_meeting_point);
ProcessPlace slurm_place(const Variables& v, bool needs_meeting_point);
// By an mpirun, or what else tells its processes their places as one does: PALS, Flux, jsrun.
ProcessPlace mpi_place(const Variables& v, bool needs_meeting_point);
// The first process of this node; the number to start is the caller's.
ProcessPlace node_place(const Variables& v, int num_processes, bool needs_meeting_point);

}  // namespace ffkit
