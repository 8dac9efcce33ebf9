#include "launchers.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace ffkit {
namespace {

constexpr char kMvapich[] = "NAME=VALUE before the program (mpirun_rsh)";

// MPICH's and Intel MPI's mpiexec set it beside PMI_RANK; Slurm does not.
constexpr char kLocalRankOfMpiexec[] = "MPI_LOCALRANKID";

constexpr LauncherNames of_mpi(const char* rank, const char* size, const char* local_rank,
                               const char* local_size, const char* how_to_give) {
  return {.launcher = Launcher::mpi,
          .rank = rank,
          .size = size,
          .is_certain = true,
          .how_to_give = how_to_give,
          .local_rank = {local_rank},
          .local_size = {local_size}};
}

// Open MPI is first: jsrun sets its names too. Flux gives its processes PMI_RANK as well, and what
// it itself was started with, of Slurm for one.
constexpr std::array kMpiLaunchers = {
    of_mpi("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
           "OMPI_COMM_WORLD_LOCAL_SIZE", "-x NAME=VALUE (Open MPI)"),
    of_mpi("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
           "MV2_COMM_WORLD_LOCAL_SIZE", kMvapich),
    of_mpi("MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_RANK",
           "MVP_COMM_WORLD_LOCAL_SIZE", kMvapich),
    of_mpi("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
           "JSM_NAMESPACE_LOCAL_SIZE", "-E NAME=VALUE (jsrun)"),
    LauncherNames{.launcher = Launcher::mpi,
                  .rank = "FLUX_TASK_RANK",
                  .size = "FLUX_JOB_SIZE",
                  .is_certain = true,
                  .how_to_give = "--env=NAME=VALUE (flux run)",
                  .local_rank = {"FLUX_TASK_LOCAL_ID"},
                  .num_nodes = "FLUX_JOB_NNODES"},
    LauncherNames{.launcher = Launcher::mpi,
                  .rank = "PMI_RANK",
                  .size = "PMI_SIZE",
                  .how_to_give = "-genv NAME VALUE (MPICH, Intel MPI) or --env NAME=VALUE (PALS)",
                  .local_rank = {kLocalRankOfMpiexec, "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID"},
                  .local_size = {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"}}};

std::optional<std::string> step_of(const Variables& v) {
  return v.text({"SLURM_STEP_ID", "SLURM_STEPID"});
}

}  // namespace

constinit const LauncherNames kTorchNames = {
    .launcher = Launcher::torchrun, .rank = "RANK", .size = "WORLD_SIZE"};

std::span<const LauncherNames> mpi_launchers() {
  return kMpiLaunchers;
}

LauncherNames names_of_step(const Variables& v) {
  constexpr const char* kTasksOfStep = "SLURM_STEP_NUM_TASKS";
  return {.launcher = Launcher::slurm,
          .rank = "SLURM_PROCID",
          .size = v.has(kTasksOfStep) ? kTasksOfStep : "SLURM_NTASKS"};
}

std::vector<LauncherNames> starters_of(const Variables& v) {
  // torchrun and mpirun may have been started by srun, a process on each machine.
  if (v.has("TORCHELASTIC_RUN_ID")) return {kTorchNames};
  const auto mpi = std::ranges::find_if(
      kMpiLaunchers, [&v](const LauncherNames& names) { return v.has(names.rank); });
  const bool has_mpi = mpi != kMpiLaunchers.end();
  const bool is_certain = has_mpi && (mpi->is_certain || v.has(kLocalRankOfMpiexec));
  std::vector<LauncherNames> starters;
  if (!is_certain && is_task_of_srun(v)) starters.push_back(names_of_step(v));
  if (has_mpi) starters.push_back(*mpi);
  const int num_set = int(v.has(kTorchNames.rank)) + int(v.has(kTorchNames.size));
  if (num_set == 2 || (num_set == 1 && starters.empty())) starters.push_back(kTorchNames);
  return starters;
}

RankAndSize rank_and_size(const Variables& v, const LauncherNames& names) {
  const int64_t size = v.required({names.size}, names.rank);
  return {.rank = v.rank({names.rank}, size, names.size), .size = size};
}

bool is_in_slurm(const Variables& v) {
  // prterun starts its daemons by srun where it can: Slurm's variables are theirs.
  return v.has("SLURM_PROCID") && !v.has("PRTE_LAUNCHED");
}

bool is_task_of_srun(const Variables& v) {
  if (!is_in_slurm(v)) return false;
  const std::optional<std::string> step = step_of(v);
  return step ? is_step_of_srun(step) : !v.text({"SLURM_JOB_ID", "SLURM_JOBID"});
}

bool is_step_of_srun(const std::optional<std::string>& step) {
  // From here on: the terminal of salloc, a batch script, what adopts a login.
  constexpr uint64_t kFirstStepOfItsOwn = 4294967290;
  if (!step) return false;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(step->data(), step->data() + step->size(), number);
  const bool is_number = error == std::errc() && end == step->data() + step->size();
  return is_number && number < kFirstStepOfItsOwn;
}

int tasks_of_first_node(const Variables& v) {
  return std::atoi(
      v.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}).value_or("").c_str());
}

void refuse_rank_alone(const Variables& v) {
  for (const char* name : {"PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "PMI_ID", "MPIRUN_RANK"}) {
    if (v.has(name)) v.refuse(v.words().rank_alone, name);
  }
}

}  // namespace ffkit
