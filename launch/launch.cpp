#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ffkit/launch/launch.h>

#include "base/enum_names.h"
#include "launchers.h"
#include "meeting_point.h"
#include "places.h"
#include "variables.h"

namespace ffkit {
namespace {

constexpr EnumName<Launcher> kLauncherNames[] = {
    {Launcher::automatic, "auto"}, {Launcher::none, "none"}, {Launcher::torchrun, "torchrun"},
    {Launcher::slurm, "slurm"},    {Launcher::mpi, "mpi"},   {Launcher::node, "node"}};

constexpr LaunchWords kTrainingWords = {
    .no_number =
        "the environment variable {name} is '{value}', which is no number; mend what starts the "
        "processes, or give --launcher none to train with this process alone",
    .missing =
        "the environment variable {name} is not set, which the launcher {detail} needs; start "
        "fftrain by that launcher, or give --launcher none to train without it",
    .too_high =
        "{name} is {value}, but {other} is only {other_value}; mend what starts the "
        "processes",
    .rank_alone =
        "{name} is {value}, but no variable says how many processes were started; start them by "
        "mpirun, or give each RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or give "
        "--launcher none to train with this process alone",
    .too_large =
        "the environment variable {name} is {value}, which is too large; mend what starts the "
        "processes"};

Launcher find_launcher(const Variables& v) {
  const std::vector<LauncherNames> starters = starters_of(v);
  if (starters.empty()) {
    if (!is_in_slurm(v)) refuse_rank_alone(v);
    return Launcher::none;
  }
  const Launcher first = starters.front().launcher;
  if (first != Launcher::torchrun || v.has("TORCHELASTIC_RUN_ID")) return first;
  const bool has_rank = v.has("RANK");
  if (!has_rank || !v.has("WORLD_SIZE")) {
    refuse_launch(
        fmt::format("the environment variable {} is set but {} is not; set both, or unset it, or "
                    "give --launcher none to train without other processes",
                    has_rank ? "RANK" : "WORLD_SIZE", has_rank ? "WORLD_SIZE" : "RANK"));
  }
  return v.has("LOCAL_RANK") ? Launcher::torchrun : Launcher::node;
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

LaunchPlan plan_launch(const LaunchOptions& options, const Environment& environment) {
  // What run_local_processes() started has the options of the command that started it.
  const bool is_started = environment(kStartedVariable).has_value();
  Launcher launcher = options.launcher;
  if (is_started) {
    launcher = Launcher::torchrun;
  } else if (launcher == Launcher::automatic) {
    launcher = find_launcher(Variables(environment, kTrainingWords));
  }
  const Variables v(environment, kTrainingWords, std::string(to_string(launcher)));
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
                    "{} in all; leave --nproc out, or give --launcher none",
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
