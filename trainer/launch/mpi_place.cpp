#include "launch/mpi_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/launchers.h"
#include "launch/meeting_point.h"

namespace ffkit {
namespace {

constexpr char kOpenMpi[] = "-x NAME=VALUE (Open MPI)";
constexpr char kMvapich[] = "NAME=VALUE before the program (mpirun_rsh)";
constexpr char kFlux[] = "--env=NAME=VALUE (flux run)";
constexpr char kPmi[] = "-genv NAME VALUE (MPICH, Intel MPI) or --env NAME=VALUE (PALS)";
constexpr char kJsrun[] = "-E NAME=VALUE (jsrun)";

// What one launcher calls the place of a process.
struct MpiNames {
  RankNames ranks;
  std::array<const char*, 3> local_rank;
  std::array<const char*, 3> local_size;
  const char* how_to_give;  // a variable to the processes
};
// In the order of kMpiRanks.
constexpr std::array kMpiNames = {
    MpiNames{
        kOpenMpiRanks, {"OMPI_COMM_WORLD_LOCAL_RANK"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"}, kOpenMpi},
    MpiNames{
        kMvapich2Ranks, {"MV2_COMM_WORLD_LOCAL_RANK"}, {"MV2_COMM_WORLD_LOCAL_SIZE"}, kMvapich},
    MpiNames{kMvapichRanks, {"MVP_COMM_WORLD_LOCAL_RANK"}, {"MVP_COMM_WORLD_LOCAL_SIZE"}, kMvapich},
    MpiNames{kJsrunRanks, {"JSM_NAMESPACE_LOCAL_RANK"}, {"JSM_NAMESPACE_LOCAL_SIZE"}, kJsrun},
    MpiNames{kFluxRanks, {"FLUX_TASK_LOCAL_ID"}, {}, kFlux},
    MpiNames{kPmiRanks,
             {kLocalRankOfMpiexec, "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID"},
             {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE"},
             kPmi}};
constexpr char kLocalRank[] = "LOCAL_RANK", kLocalSize[] = "LOCAL_WORLD_SIZE";

bool is_set(const Variables& v, const MpiNames& names) {
  return v.has(names.ranks.rank) || v.has(names.ranks.size);
}

const MpiNames& names_of(const Variables& v) {
  const auto* found = std::find_if(kMpiNames.begin(), kMpiNames.end(),
                                   [&v](const MpiNames& names) { return is_set(v, names); });
  if (found != kMpiNames.end()) return *found;
  refuse_rank_alone(v);
  return kMpiNames.front();
}

// The first of `names` that is set, or the one that torch's launchers use.
const char* first_set(const Variables& v, const std::array<const char*, 3>& names,
                      const char* torchs) {
  for (const char* name : names) {
    if (name != nullptr && v.has(name)) return name;
  }
  return v.has(torchs) ? torchs : nullptr;
}

// The mpirun, or its agent on this machine, that is among this process' ancestors, by number and
// time of start: what all of its processes share.
std::optional<std::string> starter_of_mpi() {
  constexpr std::array<std::string_view, 14> kNames = {
      "mpirun", "mpiexec",         "mpiexec.hydra", "hydra_pmi_proxy", "orterun",
      "orted",  "hydra_bstrap_pr", "pmi_proxy",     "prterun",         "prted",
      "prte",   "mpirun.openmpi",  "mpirun_rsh",    "mpispawn"};
  for (pid_t pid = ::getppid(); pid > 1;) {
    // "123 (name) S 122 ..."; the name may hold anything, the start is the 20th field behind it.
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const size_t open = stat.find('('), close = stat.rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;
    const std::string name = stat.substr(open + 1, close - open - 1);
    std::istringstream rest(stat.substr(close + 1));
    std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
    if (fields.size() < 20) return std::nullopt;
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end())
      return fmt::format("{}.{}", pid, fields[19]);
    pid = std::atoi(fields[1].c_str());
  }
  return std::nullopt;
}

// Those of this machine. Returns whether all processes are known to be on it: what nobody says is
// not guessed, for then all would meet at 127.0.0.1.
bool find_local_place(const Variables& v, const MpiNames& names, ProcessPlace& place) {
  const char* const rank_name = first_set(v, names.local_rank, kLocalRank);
  if (rank_name == nullptr) {
    refuse_launch(fmt::format(
        "{} is {} of {}, but no variable says which process of its machine this one is; give each "
        "process LOCAL_RANK and LOCAL_WORLD_SIZE, or give --launcher none to train without the "
        "others",
        names.ranks.rank, place.rank, place.world_size));
  }
  if (const char* const size_name = first_set(v, names.local_size, kLocalSize)) {
    place.local_world_size = int(v.required({size_name}));
    if (place.local_world_size > place.world_size) {
      refuse_launch(fmt::format("{} is {}, but {} is only {}; mend what starts the processes",
                                size_name, place.local_world_size, names.ranks.size,
                                place.world_size));
    }
    place.local_rank = v.rank({rank_name}, place.local_world_size, size_name);
    return place.local_world_size == place.world_size;
  }
  place.local_rank = v.rank({rank_name}, place.world_size, names.ranks.size);
  place.local_world_size = place.local_rank + 1;
  if (names.how_to_give != kFlux) return false;
  // Flux says how many machines there are, and spreads the processes evenly.
  const int64_t num_nodes = std::max<int64_t>(1, v.required({"FLUX_JOB_NNODES"}));
  place.local_world_size = int(
      std::max<int64_t>(place.local_world_size, (place.world_size + num_nodes - 1) / num_nodes));
  return num_nodes == 1;
}

}  // namespace

bool is_started_by_mpi(const Variables& variables) {
  return variables.has(kLocalRankOfMpiexec) ||
         std::any_of(kMpiNames.begin(), kMpiNames.end(), [&variables](const MpiNames& names) {
           return names.ranks.is_certain && variables.has(names.ranks.rank);
         });
}

bool may_be_started_by_mpi(const Variables& variables) {
  return std::any_of(kMpiNames.begin(), kMpiNames.end(), [&variables](const MpiNames& names) {
    return variables.has(names.ranks.rank);
  });
}

void refuse_rank_alone(const Variables& variables) {
  for (const char* name : kRanksAlone) {
    const std::optional<std::string> rank = variables.text({name});
    if (!rank) continue;
    refuse_launch(fmt::format(
        "{} is {}, but no variable says how many processes were started; start them by mpirun, or "
        "give each RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or give --launcher "
        "none to train with this process alone",
        name, *rank));
  }
}

ProcessPlace mpi_place(const Variables& variables, bool needs_meeting_point) {
  const Variables& v = variables;
  const MpiNames& names = names_of(v);
  ProcessPlace place;
  place.world_size = int(v.required({names.ranks.size}));
  place.rank = v.rank({names.ranks.rank}, place.world_size, names.ranks.size);
  if (place.world_size == 1) return place;
  const bool is_one_machine = find_local_place(v, names, place);
  // Something that all processes of this job share and others do not: the port is made of it. (A
  // descriptor's number is the same in every job.)
  std::optional<std::string> job =
      v.text({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMI_KVS",
              "FLUX_JOB_ID", "PALS_APID"});
  if (!job && is_one_machine) job = starter_of_mpi();
  if (!job) job = v.text({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
  place.key_prefix = job ? "ffkit/" + *job : "ffkit";
  if (!needs_meeting_point) return place;
  std::optional<std::string> host = v.text({"MASTER_ADDR"});
  if (!host && is_one_machine) host = "127.0.0.1";
  if (!host && names.how_to_give != kFlux) {
    if (const auto hosts = v.text({"SLURM_JOB_NODELIST"})) host = parse_host_list(*hosts).front();
  }
  if (!host) {
    refuse_launch(
        fmt::format("the processes may be on several machines, and need the address of the first "
                    "one in MASTER_ADDR; give it by {}",
                    names.how_to_give));
  }
  const std::optional<int> port = v.port();
  if (!job && !port) {
    refuse_launch(fmt::format(
        "nothing tells this MPI job from others, which would meet at the same port; give a free "
        "one in MASTER_PORT by {}",
        names.how_to_give));
  }
  if (!job) place.key_prefix = fmt::format("ffkit/port{}", *port);
  place.meeting_point = tcp_meeting_point(*host, port ? *port : port_of_job(*job));
  return place;
}

}  // namespace ffkit
