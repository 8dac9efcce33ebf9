#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <ffkit/trainer/launch.h>

#include "base/enum_names.h"
#include "base/machine/launchers.h"
#include "launch/local_process.h"
#include "launch/meeting_point.h"
#include "launch/mpi_place.h"
#include "launch/variables.h"

namespace ffkit {
namespace {

constexpr EnumName<Launcher> kLauncherNames[] = {
    {Launcher::automatic, "auto"}, {Launcher::none, "none"}, {Launcher::torchrun, "torchrun"},
    {Launcher::slurm, "slurm"},    {Launcher::mpi, "mpi"},   {Launcher::node, "node"}};

constexpr int kNodePort = 2223;  // of node-level launchers that name none

// Whether Slurm started this process by itself and not as one of the tasks of a step. A batch
// script has SLURM_PROCID too.
bool is_alone_in_slurm(const Variables& v) {
  return !is_step_of_srun(v.text({"SLURM_STEP_ID", "SLURM_STEPID"}));
}

Launcher find_launcher(const Variables& v) {
  if (v.has("TORCHELASTIC_RUN_ID")) return Launcher::torchrun;
  if (is_started_by_mpi(v)) return Launcher::mpi;
  // prterun starts its daemons by srun where it can: Slurm's variables are theirs.
  const bool is_of_prterun = v.has("PRTE_LAUNCHED");
  const bool is_in_slurm = v.has("SLURM_PROCID") && !is_of_prterun;
  if (is_in_slurm && !is_alone_in_slurm(v)) return Launcher::slurm;
  if (may_be_started_by_mpi(v)) return Launcher::mpi;
  const bool has_rank = v.has("RANK");
  const bool has_world_size = v.has("WORLD_SIZE");
  if (has_rank != has_world_size) {
    refuse_launch(
        fmt::format("the environment variable {} is set but {} is not; set both, or unset it, or "
                    "give --launcher none to train "
                    "without other processes",
                    has_rank ? "RANK" : "WORLD_SIZE", has_rank ? "WORLD_SIZE" : "RANK"));
  }
  if (has_rank) return v.has("LOCAL_RANK") ? Launcher::torchrun : Launcher::node;
  if (!is_in_slurm) refuse_rank_alone(v);
  return Launcher::none;
}

// What is read of the environment depends on `needs_meeting_point`: false where --dist-init-method
// names one.
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
  place.meeting_point = tcp_meeting_point(host, *v.port());
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
  if (v.has("SLURM_STEP_ID") && is_alone_in_slurm(v)) return place;
  place.world_size = int(v.required({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}));
  place.rank = v.rank({"SLURM_PROCID"}, place.world_size, "SLURM_NTASKS");
  place.local_rank = int(v.required({"SLURM_LOCALID"}));
  // "2(x3),1": of this node's number of tasks only a lower bound is needed.
  place.local_world_size = place.local_rank + 1;
  if (const auto tasks = v.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})) {
    place.local_world_size = std::max(place.local_world_size, std::atoi(tasks->c_str()));
  }
  if (place.world_size == 1) return place;
  // Numbers of jobs have passed 2^31, and only the port is made of them. Several steps of one job
  // may share a machine.
  const std::string job = v.text({"SLURM_JOB_ID", "SLURM_JOBID"}).value_or("");
  const std::string step = v.text({"SLURM_STEP_ID", "SLURM_STEPID"}).value_or("0");
  place.key_prefix =
      fmt::format("ffkit/{}.{}.{}", job, step, v.text({"SLURM_RESTART_COUNT"}).value_or("0"));
  if (!needs_meeting_point) return place;
  const std::optional<int> port = v.port();
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

// The first process of this node; the number to start is the caller's.
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
                                          v.port().value_or(kNodePort));
  return place;
}

// Whether `method` names a meeting point, instead of the environment.
bool names_meeting_point(const std::string& method) {
  return !method.empty() && method != "env";
}

void apply_init_method(const std::string& method, ProcessPlace& place) {
  if (!names_meeting_point(method)) return;
  const std::optional<HostAndPort> tcp = host_and_port(method);
  if (!tcp && !meeting_file(method)) {
    refuse_launch(fmt::format(
        "--dist-init-method is '{}', but it must be tcp://HOST:PORT, file:///PATH or env", method));
  }
  place.meeting_point = tcp ? tcp_meeting_point(tcp->host, tcp->port) : method;
  place.is_served = false;
  place.listening_socket = -1;
}

}  // namespace

std::string_view to_string(Launcher launcher) {
  return name_of(kLauncherNames, launcher);
}

Launcher parse_launcher(std::string_view name) {
  return value_of(kLauncherNames, name, "launcher");
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
    launcher = find_launcher(Variables(launcher, environment));
  }
  const Variables v(launcher, environment);
  const bool needs_meeting_point = !names_meeting_point(options.init_method);
  const int num_processes =
      options.num_processes > 0 ? options.num_processes : std::max(1, count_gpus(environment));
  LaunchPlan plan;
  switch (launcher) {
    case Launcher::torchrun:
      plan.place = torchrun_place(v, needs_meeting_point);
      break;
    case Launcher::slurm:
      plan.place = slurm_place(v, needs_meeting_point);
      break;
    case Launcher::mpi:
      plan.place = mpi_place(v, needs_meeting_point);
      break;
    case Launcher::node:
      plan.place = node_place(v, num_processes, needs_meeting_point);
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
