// What programs that start processes say to each of them in its environment: its number among them,
// and how many they are. Constants; thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace ffkit {

// The variables of one launcher of MPI's kind.
struct RankNames {
  const char* rank;
  const char* size;
  // No other program sets them for it: they count before those of Slurm, whose srun may have
  // started the launcher's daemons.
  bool is_certain;
};
inline constexpr RankNames kOpenMpiRanks = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true};
inline constexpr RankNames kMvapich2Ranks = {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", true};
inline constexpr RankNames kMvapichRanks = {"MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", true};
inline constexpr RankNames kJsrunRanks = {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", true};
inline constexpr RankNames kFluxRanks = {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", true};
inline constexpr RankNames kPmiRanks = {"PMI_RANK", "PMI_SIZE", false};
// In the order in which they are asked. Open MPI is first: jsrun sets its names too. Flux gives its
// processes PMI_RANK as well, and what it itself was started with, of Slurm for one.
inline constexpr std::array kMpiRanks = {kOpenMpiRanks, kMvapich2Ranks, kMvapichRanks,
                                         kJsrunRanks,   kFluxRanks,     kPmiRanks};
// MPICH's and Intel MPI's mpiexec set it beside PMI_RANK; Slurm does not.
inline constexpr const char* kLocalRankOfMpiexec = "MPI_LOCALRANKID";
// Of launchers that do not say how many processes there are, unless a library of theirs is asked.
inline constexpr std::array kRanksAlone = {"PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "PMI_ID",
                                           "MPIRUN_RANK"};

// Whether Slurm's step of this number (SLURM_STEP_ID), which may not be set, consists of tasks that
// srun started. A batch script and the terminal of salloc have a SLURM_PROCID too.
bool is_step_of_srun(const std::optional<std::string>& step);

}  // namespace ffkit
