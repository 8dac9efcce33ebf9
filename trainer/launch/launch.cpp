#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include <ffkit/format/error.h>
#include <ffkit/trainer/launch.h>

#include "launch/local_process.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct LauncherName {
  Launcher launcher;
  std::string_view name;
};
constexpr std::array kLaunchers = {
    LauncherName{Launcher::automatic, "auto"},    LauncherName{Launcher::none, "none"},
    LauncherName{Launcher::torchrun, "torchrun"}, LauncherName{Launcher::slurm, "slurm"},
    LauncherName{Launcher::mpi, "mpi"},           LauncherName{Launcher::node, "node"}};

constexpr int kNodePort = 2223;  // of node-level launchers that name none

[[noreturn]] void refuse_launch(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

// The variables of one launcher.
class Variables {
 public:
  Variables(Launcher launcher, const Environment& environment)
      : launcher_(launcher), environment_(environment) {}

  // The first of `names` that is set.
  std::optional<std::string> text(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (std::optional<std::string> value = environment_(name); value && !value->empty())
        return value;
    }
    return std::nullopt;
  }

  std::string required_text(std::initializer_list<const char*> names) const {
    if (std::optional<std::string> value = text(names)) return *value;
    missing(names);
  }

  std::optional<int64_t> number(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const std::optional<std::string> value = environment_(name);
      if (!value || value->empty()) continue;
      int64_t number = 0;
      const auto [end, error] =
          std::from_chars(value->data(), value->data() + value->size(), number);
      if (error != std::errc() || end != value->data() + value->size() || number < 0) {
        refuse_launch(
            fmt::format("the environment variable {} is '{}', which is no number; mend what starts "
                        "the processes, or give "
                        "--launcher none to train with this process alone",
                        name, *value));
      }
      if (number > std::numeric_limits<int>::max()) {
        refuse_launch(
            fmt::format("the environment variable {} is {}, which is too large; mend "
                        "what starts the processes",
                        name, number));
      }
      return number;
    }
    return std::nullopt;
  }

  int64_t required(std::initializer_list<const char*> names) const {
    if (const std::optional<int64_t> value = number(names)) return *value;
    missing(names);
  }

  // A number below `limit`, which is the value of `limit_name`.
  int rank(std::initializer_list<const char*> names, int64_t limit, const char* limit_name) const {
    const int64_t value = required(names);
    if (value < limit) return int(value);
    refuse_launch(fmt::format("{} is {}, but {} is only {}; mend what starts the processes",
                              *names.begin(), value, limit_name, limit));
  }

  int port(int fallback) const {
    const int64_t port = number({"MASTER_PORT"}).value_or(fallback);
    if (port >= 1 && port <= 65535) return int(port);
    refuse_launch(fmt::format("MASTER_PORT is {}, but ports go from 1 to 65535", port));
  }

 private:
  [[noreturn]] void missing(std::initializer_list<const char*> names) const {
    refuse_launch(
        fmt::format("the environment variable {} is not set, which the launcher {} needs; start "
                    "fftrain by that launcher, or give "
                    "--launcher none to train without it",
                    *names.begin(), to_string(launcher_)));
  }

  Launcher launcher_;
  const Environment& environment_;
};

Launcher find_launcher(const Environment& env) {
  const auto is_set = [&env](const char* name) { return env(name).value_or("") != ""; };
  if (is_set("TORCHELASTIC_RUN_ID")) return Launcher::torchrun;
  if (is_set("OMPI_COMM_WORLD_RANK") || is_set("MPI_LOCALRANKID")) return Launcher::mpi;
  // A batch script has SLURM_PROCID too, but only what srun starts is one of several tasks.
  if (is_set("SLURM_PROCID") && is_set("SLURM_STEP_ID")) return Launcher::slurm;
  if (is_set("PMI_RANK")) return Launcher::mpi;
  const bool has_rank = is_set("RANK");
  const bool has_world_size = is_set("WORLD_SIZE");
  if (has_rank != has_world_size) {
    refuse_launch(
        fmt::format("the environment variable {} is set but {} is not; set both, or unset it, or "
                    "give --launcher none to train "
                    "without other processes",
                    has_rank ? "RANK" : "WORLD_SIZE", has_rank ? "WORLD_SIZE" : "RANK"));
  }
  if (has_rank) return is_set("LOCAL_RANK") ? Launcher::torchrun : Launcher::node;
  return Launcher::none;
}

std::string tcp(const std::string& host, int port) {
  return fmt::format("tcp://{}:{}", host, port);
}

ProcessPlace torchrun_place(const Variables& v) {
  ProcessPlace place;
  place.world_size = int(v.required({"WORLD_SIZE"}));
  place.rank = v.rank({"RANK"}, place.world_size, "WORLD_SIZE");
  place.local_world_size = int(v.number({"LOCAL_WORLD_SIZE"}).value_or(1));
  place.local_rank = int(v.required({"LOCAL_RANK"}));
  place.local_world_size = std::max(place.local_world_size, place.local_rank + 1);
  const std::string host = v.required_text({"MASTER_ADDR"});
  v.required({"MASTER_PORT"});
  place.meeting_point = tcp(host, v.port(0));
  place.is_served = v.text({"TORCHELASTIC_USE_AGENT_STORE"}).value_or("") == "True";
  place.key_prefix = fmt::format("ffkit/{}", v.number({"TORCHELASTIC_RESTART_COUNT"}).value_or(0));
  if (const auto socket = v.number({kSocketVariable}); socket && place.rank == 0) {
    place.listening_socket = int(*socket);
  }
  return place;
}

ProcessPlace slurm_place(const Variables& v) {
  ProcessPlace place;
  place.world_size = int(v.required({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}));
  place.rank = v.rank({"SLURM_PROCID"}, place.world_size, "SLURM_NTASKS");
  place.local_rank = int(v.required({"SLURM_LOCALID"}));
  // "2(x3),1": of this node's number of tasks only a lower bound is needed.
  place.local_world_size = place.local_rank + 1;
  if (const auto tasks = v.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})) {
    place.local_world_size = std::max(place.local_world_size, std::atoi(tasks->c_str()));
  }
  const int64_t job = v.required({"SLURM_JOB_ID", "SLURM_JOBID"});
  const std::string host =
      v.text({"MASTER_ADDR"})
          .value_or(parse_host_list(v.required_text({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                                                     "SLURM_NODELIST"}))
                        .front());
  const int64_t step = v.number({"SLURM_STEP_ID"}).value_or(0);
  // Several steps of one job may share a machine.
  place.meeting_point = tcp(host, v.port(int(20000 + (job * 7 + step) % 10000)));
  place.key_prefix =
      fmt::format("ffkit/{}.{}.{}", job, step, v.number({"SLURM_RESTART_COUNT"}).value_or(0));
  return place;
}

// The mpirun, or its agent on this machine, that is among this process' ancestors, by number and time of start: what all of its processes share.
std::optional<std::string> starter_of_mpi() {
  constexpr std::array<std::string_view, 12> kNames = {
      "mpirun", "mpiexec",         "mpiexec.hydra", "hydra_pmi_proxy", "orterun",
      "orted",  "hydra_bstrap_pr", "pmi_proxy",     "prterun",         "prted",
      "prte",   "mpirun.openmpi"};
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

ProcessPlace mpi_place(const Variables& v) {
  ProcessPlace place;
  place.world_size = int(v.required({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}));
  place.rank =
      v.rank({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, place.world_size, "the number of processes");
  place.local_rank =
      int(v.number({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}).value_or(place.rank));
  place.local_world_size =
      int(v.number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(place.world_size));
  if (place.world_size == 1) return place;
  std::optional<std::string> host = v.text({"MASTER_ADDR"});
  if (!host && place.local_world_size == place.world_size) host = "127.0.0.1";
  if (!host) {
    if (const auto hosts = v.text({"SLURM_JOB_NODELIST"})) host = parse_host_list(*hosts).front();
  }
  if (!host) {
    refuse_launch(
        "under MPI on several machines the processes need the address of the first one: give it "
        "with -x MASTER_ADDR=HOST "
        "(Open MPI) or -genv MASTER_ADDR HOST (MPICH)");
  }
  // Something that all processes of this job share and others do not: the port is made of it. (A descriptor's number is the same in every job.)
  std::optional<std::string> job =
      v.text({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMI_KVS"});
  if (!job && place.local_world_size == place.world_size) job = starter_of_mpi();
  if (!job) job = v.text({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"});
  const std::optional<int64_t> port = v.number({"MASTER_PORT"});
  if (!job && !port) {
    refuse_launch(
        "nothing tells this MPI job from others, which would meet at the same port; give a free "
        "one "
        "with -x MASTER_PORT=PORT (Open MPI) or -genv MASTER_PORT PORT (MPICH)");
  }
  if (!job) job = fmt::format("port{}", *port);
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : *job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  place.meeting_point = tcp(*host, v.port(int(20000 + hash % 10000)));
  place.key_prefix = "ffkit/" + *job;
  return place;
}

// The first process of this node; the number to start is the caller's.
ProcessPlace node_place(const Variables& v, int num_processes) {
  ProcessPlace place;
  const int64_t num_nodes = v.required({"WORLD_SIZE"});
  const int node = v.rank({"RANK"}, num_nodes, "WORLD_SIZE, the number of nodes,");
  place.world_size = int(num_nodes) * num_processes;
  place.rank = node * num_processes;
  place.local_world_size = num_processes;
  place.meeting_point = tcp(v.text({"MASTER_ADDR"}).value_or("127.0.0.1"), v.port(kNodePort));
  place.key_prefix = "ffkit";
  return place;
}

void apply_init_method(const std::string& method, ProcessPlace& place) {
  if (method.empty() || method == "env") return;
  const bool is_file = method.starts_with("file:///");
  const size_t colon = method.rfind(':');
  const bool is_tcp = method.starts_with("tcp://") && colon > 6 && colon + 1 < method.size();
  if (!is_file && !is_tcp) {
    refuse_launch(fmt::format(
        "--dist-init-method is '{}', but it must be tcp://HOST:PORT, file:///PATH or env", method));
  }
  place.meeting_point = method;
  place.is_served = false;
  place.listening_socket = -1;
}

}  // namespace

std::string_view to_string(Launcher launcher) {
  return std::find_if(kLaunchers.begin(), kLaunchers.end(),
                      [launcher](const LauncherName& l) { return l.launcher == launcher; })
      ->name;
}

Launcher parse_launcher(std::string_view name) {
  for (const LauncherName& l : kLaunchers) {
    if (l.name == name) return l.launcher;
  }
  refuse_launch(fmt::format(
      "there is no launcher '{}'; there are auto, none, torchrun, slurm, mpi and node", name));
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

LaunchPlan plan_launch(const LaunchOptions& options, const Environment& environment) {
  // What run_local_processes() started has the options of the command that started it.
  const bool is_started = environment(kStartedVariable).has_value();
  Launcher launcher = options.launcher;
  if (is_started) {
    launcher = Launcher::torchrun;
  } else if (launcher == Launcher::automatic) {
    launcher = find_launcher(environment);
  }
  const Variables v(launcher, environment);
  const int num_processes =
      options.num_processes > 0 ? options.num_processes : std::max(1, count_gpus(environment));
  LaunchPlan plan;
  switch (launcher) {
    case Launcher::torchrun:
      plan.place = torchrun_place(v);
      break;
    case Launcher::slurm:
      plan.place = slurm_place(v);
      break;
    case Launcher::mpi:
      plan.place = mpi_place(v);
      break;
    case Launcher::node:
      plan.place = node_place(v, num_processes);
      plan.num_processes = num_processes;
      break;
    case Launcher::automatic:
    case Launcher::none:
      plan.place.world_size = plan.place.local_world_size = num_processes;
      plan.num_processes = num_processes > 1 ? num_processes : 0;
      break;
  }
  const bool starts_none = launcher != Launcher::none && launcher != Launcher::node;
  if (starts_none && !is_started && options.num_processes > 0) {
    refuse_launch(
        fmt::format("--nproc is {}, but under the launcher {} the processes are already started, "
                    "{} in all; leave --nproc out, or "
                    "give --launcher none",
                    options.num_processes, to_string(launcher), plan.place.world_size));
  }
  if (plan.place.world_size < 1)
    refuse_launch("the environment says that there are no processes; mend what starts them");
  apply_init_method(options.init_method, plan.place);
  if (plan.place.world_size == 1) plan.place.meeting_point.clear();
  plan.place.backend = options.backend;
  plan.place.timeout_seconds = options.timeout_seconds;
  plan.place.launcher = launcher;
  return plan;
}

}  // namespace ffkit
