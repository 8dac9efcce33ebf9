#include "launchers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>

#include <ffkit/base/error.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace ffkit {

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::optional<std::string> Variables::text(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    if (std::optional<std::string> value = environment_(name); value && !value->empty())
      return value;
  }
  return std::nullopt;
}

std::string Variables::required_text(std::initializer_list<const char*> names) const {
  if (std::optional<std::string> value = text(names)) return *value;
  refuse(words_.missing, *names.begin());
}

std::optional<int64_t> Variables::number(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    const std::optional<std::string> value = text({name});
    if (!value) continue;
    const std::string_view digits = trimmed(*value);
    const char* const last = digits.data() + digits.size();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), last, number);
    if (error == std::errc::invalid_argument || end != last || number < 0)
      refuse(words_.no_number, name);
    if (error != std::errc() || number > std::numeric_limits<int>::max())
      refuse(words_.too_large != nullptr ? words_.too_large : words_.no_number, name);
    return number;
  }
  return std::nullopt;
}

int64_t Variables::required(std::initializer_list<const char*> names, const char* because) const {
  if (const std::optional<int64_t> value = number(names)) return *value;
  refuse(words_.missing, *names.begin(), because, text({because}).value_or(""));
}

int Variables::rank(std::initializer_list<const char*> names, int64_t limit,
                    const char* limit_name) const {
  const int64_t value = required(names, limit_name);
  if (value < limit) return int(value);
  const char* const name =
      *std::find_if(names.begin(), names.end(), [this](const char* n) { return has(n); });
  refuse(words_.too_high, name, limit_name, std::to_string(limit));
}

void Variables::refuse(const char* words, const char* name, const char* other,
                       const std::string& other_value) const {
  const std::string value = text({name}).value_or("");
  throw Error(ErrorCode::invalid_argument,
              fmt::format(fmt::runtime(words), fmt::arg("name", name), fmt::arg("value", value),
                          fmt::arg("other", other), fmt::arg("other_value", other_value),
                          fmt::arg("detail", detail_)));
}

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

namespace {

// What one launcher says; it may be half.
struct Claim {
  LauncherNames names;
  std::optional<int64_t> rank, size;

  bool agrees_with(const Claim& other) const {
    return (!rank || !other.rank || *rank == *other.rank) &&
           (!size || !other.size || *size == *other.size);
  }
  const char* variable() const { return rank ? names.rank : names.size; }
  // "process 2 of 4"
  std::string text() const {
    return fmt::format("{}{}", rank ? fmt::format("process {}", *rank) : "a process",
                       size ? fmt::format(" of {}", *size) : "");
  }
};

Claim claim_of(const Variables& v, const LauncherNames& names) {
  return {.names = names, .rank = v.number({names.rank}), .size = v.number({names.size})};
}

// Of claims, the outermost launcher's first as far as that is known.
std::optional<Starter> starter_by(const Variables& v, const std::vector<Claim>& claims) {
  if (claims.empty()) return std::nullopt;
  const Claim* best = &claims.front();
  for (const Claim& claim : claims) {
    if (claim.agrees_with(*best)) continue;
    const bool are_whole = claim.rank && claim.size && best->rank && best->size;
    // mpirun's kinds may stand one in the other either way.
    const bool may_be_outer = claim.names.launcher == Launcher::mpi &&
                              best->names.launcher == Launcher::mpi && claim.size == 1;
    if (are_whole && may_be_outer) continue;
    if (!are_whole || best->size != 1) {
      throw error_of(
          ErrorCode::invalid_argument,
          "the variables of two launchers disagree, because {} says {}, but {} says {} (the first "
          "process is process 0); unset the variables of the launcher that did not start this "
          "process, or {}",
          best->variable(), best->text(), claim.variable(), claim.text(),
          fmt::format(fmt::runtime(v.words().disagree), fmt::arg("detail", v.detail())));
    }
    best = &claim;
  }
  const LauncherNames& names = best->names;
  const int64_t size = v.required({names.size}, names.rank);
  return Starter{.names = names, .rank = v.rank({names.rank}, size, names.size), .size = size};
}

void add_mpi_claims(const Variables& v, std::vector<Claim>& claims) {
  for (const LauncherNames& names : kMpiLaunchers) {
    if (v.has(names.rank)) claims.push_back(claim_of(v, names));
  }
}

}  // namespace

std::optional<Starter> find_starter(const Variables& v) {
  // torchrun and mpirun may have been started by srun, a process on each machine.
  if (v.has("TORCHELASTIC_RUN_ID")) return starter_by(v, {claim_of(v, kTorchNames)});
  std::vector<Claim> claims;
  add_mpi_claims(v, claims);
  const bool is_certain = std::ranges::any_of(claims, [&v](const Claim& claim) {
    return claim.names.is_certain || v.has(kLocalRankOfMpiexec);
  });
  if (!is_certain && is_task_of_srun(v))
    claims.insert(claims.begin(), claim_of(v, names_of_step(v)));
  const Claim by_hand = claim_of(v, kTorchNames);
  // A size of 1 alone says nothing.
  if (by_hand.rank || by_hand.size.value_or(1) != 1) claims.push_back(by_hand);
  return starter_by(v, claims);
}

Starter find_mpi_starter(const Variables& v) {
  std::vector<Claim> claims;
  add_mpi_claims(v, claims);
  if (std::optional<Starter> found = starter_by(v, claims)) return *std::move(found);
  refuse_rank_alone(v);
  const LauncherNames& first = kMpiLaunchers.front();
  const int64_t size = v.required({first.size});
  return {.names = first, .rank = v.required({first.rank}), .size = size};
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
  return step && number_of_text<uint64_t>(*step).value_or(kFirstStepOfItsOwn) < kFirstStepOfItsOwn;
}

int tasks_of_first_node(const Variables& v) {
  return std::atoi(
      v.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}).value_or("").c_str());
}

bool has_a_task_per_node(const Variables& v) {
  std::istringstream counts(
      v.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}).value_or("none"));
  for (std::string count; std::getline(counts, count, ',');) {
    if (count.substr(0, count.find('(')) != "1") return false;
  }
  return true;
}

void refuse_rank_alone(const Variables& v) {
  for (const char* name : {"PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "PMI_ID", "MPIRUN_RANK"}) {
    if (v.has(name)) v.refuse(v.words().rank_alone, name);
  }
}

}  // namespace ffkit
