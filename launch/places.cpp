#include "places.h"

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

#include "launchers.h"
#include "meeting_point.h"

namespace ffkit {
namespace {

constexpr int kNodePort = 2223;  // of node-level launchers that name none

std::optional<int> master_port(const Variables& v) {
  const std::optional<int64_t> port = v.number({"MASTER_PORT"});
  if (!port) return std::nullopt;
  if (*port >= 1 && *port <= 65535) return int(*port);
  refuse_launch(fmt::format("MASTER_PORT is {}, but ports go from 1 to 65535", *port));
}

// A port that all processes of a step of this job know. Jobs and steps whose numbers follow each
// other, which may share a machine, get different ones.
int port_of_job(std::string_view job, std::string_view step = {}) {
  constexpr uint32_t kFirst = 20000, kCount = 10000;
  const auto value = [](std::string_view text) {
    const bool is_number =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    uint32_t number = 0, hash = 2166136261;  // FNV-1a
    for (const char c : text) {
      number = (number * 10 + uint32_t(c - '0')) % kCount;
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return is_number ? number : hash % kCount;
  };
  return int(kFirst + (value(job) * 7 + value(step)) % kCount);
}

// Of the first launcher of which anything is set.
const LauncherNames& names_of(const Variables& v) {
  const std::span<const LauncherNames> all = mpi_launchers();
  const auto found = std::ranges::find_if(
      all, [&v](const LauncherNames& names) { return v.has(names.rank) || v.has(names.size); });
  if (found != all.end()) return *found;
  refuse_rank_alone(v);
  return all.front();
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
bool find_local_place(const Variables& v, const LauncherNames& names, ProcessPlace& place) {
  const char* const rank_name = first_set(v, names.local_rank, "LOCAL_RANK");
  if (rank_name == nullptr) {
    refuse_launch(fmt::format(
        "{} is {} of {}, but no variable says which process of its machine this one is; give each "
        "process LOCAL_RANK and LOCAL_WORLD_SIZE, or give --launcher none to train without the "
        "others",
        names.rank, place.rank, place.world_size));
  }
  if (const char* const size_name = first_set(v, names.local_size, "LOCAL_WORLD_SIZE")) {
    place.local_world_size = int(v.required({size_name}));
    if (place.local_world_size > place.world_size) {
      refuse_launch(fmt::format("{} is {}, but {} is only {}; mend what starts the processes",
                                size_name, place.local_world_size, names.size, place.world_size));
    }
    place.local_rank = v.rank({rank_name}, place.local_world_size, size_name);
    return place.local_world_size == place.world_size;
  }
  place.local_rank = v.rank({rank_name}, place.world_size, names.size);
  place.local_world_size = place.local_rank + 1;
  if (names.num_nodes == nullptr) return false;
  const int64_t num_nodes = std::max<int64_t>(1, v.required({names.num_nodes}));
  place.local_world_size = int(
      std::max<int64_t>(place.local_world_size, (place.world_size + num_nodes - 1) / num_nodes));
  return num_nodes == 1;
}

}  // namespace

ProcessPlace torchrun_place(const Variables& v, bool needs_meeting_point) {
  ProcessPlace place;
  place.world_size = int(v.required({"WORLD_SIZE"}));
  place.rank = v.rank({"RANK"}, place.world_size, "WORLD_SIZE");
  place.local_world_size = int(v.number({"LOCAL_WORLD_SIZE"}).value_or(1));
  place.local_rank = int(v.required({"LOCAL_RANK"}));
  place.local_world_size = std::max(place.local_world_size, place.local_rank + 1);
  place.key_prefix = fmt::format("ffkit/{}", v.text({"TORCHELASTIC_RESTART_COUNT"}).value_or("0"));
  if (!needs_meeting_point || place.world_size == 1) return place;
  const std::string host = v.required_text({"MASTER_ADDR"});
  v.required({"MASTER_PORT"});
  place.meeting_point = tcp_meeting_point(host, *master_port(v));
  place.is_served = v.text({"TORCHELASTIC_USE_AGENT_STORE"}).value_or("") == "True";
  if (const auto socket = v.number({kSocketVariable}); socket && place.rank == 0) {
    place.listening_socket = int(*socket);
  }
  return place;
}

ProcessPlace slurm_place(const Variables& v, bool needs_meeting_point) {
  ProcessPlace place;
  // Where the user says that it is Slurm, a step without a number is taken for one of several
  // tasks.
  if (v.has("SLURM_STEP_ID") && !is_step_of_srun(v.text({"SLURM_STEP_ID"}))) return place;
  place.world_size = int(v.required({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}));
  place.rank = v.rank({"SLURM_PROCID"}, place.world_size, "SLURM_NTASKS");
  place.local_rank = int(v.required({"SLURM_LOCALID"}));
  // "2(x3),1": of this node's number of tasks only a lower bound is needed.
  place.local_world_size = std::max(place.local_rank + 1, tasks_of_first_node(v));
  if (place.world_size == 1) return place;
  // Numbers of jobs have passed 2^31, and only the port is made of them. Several steps of one job
  // may share a machine.
  const std::string job = v.text({"SLURM_JOB_ID", "SLURM_JOBID"}).value_or("");
  const std::string step = v.text({"SLURM_STEP_ID", "SLURM_STEPID"}).value_or("0");
  place.key_prefix =
      fmt::format("ffkit/{}.{}.{}", job, step, v.text({"SLURM_RESTART_COUNT"}).value_or("0"));
  if (!needs_meeting_point) return place;
  const std::optional<int> port = master_port(v);
  if (!port) v.required_text({"SLURM_JOB_ID", "SLURM_JOBID"});
  std::optional<std::string> host = v.text({"MASTER_ADDR"});
  if (!host) {
    host = parse_host_list(
               v.required_text({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}))
               .front();
  }
  place.meeting_point = tcp_meeting_point(*host, port ? *port : port_of_job(job, step));
  return place;
}

ProcessPlace mpi_place(const Variables& v, bool needs_meeting_point) {
  const LauncherNames& names = names_of(v);
  ProcessPlace place;
  const RankAndSize found = rank_and_size(v, names);
  place.world_size = int(found.size);
  place.rank = int(found.rank);
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
  if (!host && names.num_nodes == nullptr) {
    if (const auto hosts = v.text({"SLURM_JOB_NODELIST"})) host = parse_host_list(*hosts).front();
  }
  if (!host) {
    refuse_launch(
        fmt::format("the processes may be on several machines, and need the address of the first "
                    "one in MASTER_ADDR; give it by {}",
                    names.how_to_give));
  }
  const std::optional<int> port = master_port(v);
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

ProcessPlace node_place(const Variables& v, int num_processes, bool needs_meeting_point) {
  ProcessPlace place;
  const int64_t num_nodes = v.required({"WORLD_SIZE"});
  const int node = v.rank({"RANK"}, num_nodes, "WORLD_SIZE, the number of nodes,");
  place.world_size = int(num_nodes) * num_processes;
  place.rank = node * num_processes;
  place.local_world_size = num_processes;
  place.key_prefix = "ffkit";
  if (!needs_meeting_point) return place;
  place.meeting_point = tcp_meeting_point(v.text({"MASTER_ADDR"}).value_or("127.0.0.1"),
                                          master_port(v).value_or(kNodePort));
  return place;
}

}  // namespace ffkit
