// Which program started this process as one of several, and what it says to each of them in its
// environment. The one table and the one rule of all entrances: ffconvert's parts, fftrain's
// processes, the shares of Python's loaders.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "variables.h"

namespace ffkit {

// The variables of one launcher.
struct LauncherNames {
  Launcher launcher;  // torchrun, slurm or mpi
  const char* rank;
  const char* size;
  // No other program sets them for it: they count before those of Slurm, whose srun may have
  // started the launcher's daemons.
  bool is_certain = false;
  const char* how_to_give = nullptr;  // a variable to the processes
  std::array<const char*, 3> local_rank = {};
  std::array<const char*, 3> local_size = {};
  const char* num_nodes = nullptr;  // of one that has no local_size, but spreads them evenly
};

// RANK and WORLD_SIZE, which others than torchrun set too.
extern const LauncherNames kTorchNames;
// Those of mpirun's kind, in the order in which they are asked.
std::span<const LauncherNames> mpi_launchers();
// What tasks of this step are counted by.
LauncherNames names_of_step(const Variables& v);

// The launchers that may have started this process, the likeliest one first. Several may have left
// their variables, one inside the other: where the innermost is known, it stands here alone. RANK
// and WORLD_SIZE stand here if both are set, or one of them and nothing else.
std::vector<LauncherNames> starters_of(const Variables& v);

struct RankAndSize {
  int64_t rank = 0;  // 0 .. size-1
  int64_t size = 1;
};
// Throws where one of the two is missing, or the rank is too high.
RankAndSize rank_and_size(const Variables& v, const LauncherNames& names);

// Whether Slurm's variables are about this process, alone or as one of several.
bool is_in_slurm(const Variables& v);
// Whether srun started this process as a task. A batch script and the terminal of salloc have a
// SLURM_PROCID too. Where variables were passed on without the number of the step, nothing of the
// job may be there.
bool is_task_of_srun(const Variables& v);
// Whether Slurm's step of this number (SLURM_STEP_ID), which may not be set, consists of tasks that
// srun started.
bool is_step_of_srun(const std::optional<std::string>& step);
// Of the first machines of Slurm's step: 4 of "4(x2),1"; 0 where it is not known.
int tasks_of_first_node(const Variables& v);

// Throws where a variable gives this process a number among others, but none says how many they
// are: launchers say that only to a library of theirs.
void refuse_rank_alone(const Variables& v);

}  // namespace ffkit
