#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

#include <ffkit/launch/launch.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "launchers.h"
#include "meeting_point.h"

namespace ffkit {
namespace {

// Slurm's compressed host lists: a comma-separated list of names, each with any number of [..] of
// numbers and ranges of one width.

constexpr size_t kMaxHosts = 1 << 20;

[[noreturn]] void refuse_host_list(std::string_view list) {
  throw error_of(
      ErrorCode::invalid_argument,
      "'{}' is not a list of hosts in the form that Slurm uses, such as node[01-03,7],gpu1", list);
}

// The next part of `rest` before a comma outside of brackets; takes it off.
std::string_view take_part(std::string_view list, std::string_view& rest) {
  bool in_brackets = false;
  size_t end = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (c == '[' || c == ']') {
      if (in_brackets == (c == '[')) refuse_host_list(list);
      in_brackets = c == '[';
    } else if (c == ',' && !in_brackets) {
      break;
    }
  }
  if (in_brackets || end == 0) refuse_host_list(list);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!rest.empty()) {
    rest.remove_prefix(1);
    if (rest.empty()) refuse_host_list(list);
  }
  return part;
}

uint64_t parse_host_number(std::string_view list, std::string_view text) {
  if (const std::optional<uint64_t> number = number_of_text<uint64_t>(text)) return *number;
  refuse_host_list(list);
}

// "08-10" -> 08, 09, 10
void expand_range(std::string_view list, std::string_view range, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const uint64_t begin = parse_host_number(list, first);
  const uint64_t end = parse_host_number(list, last);
  if (end < begin || end - begin >= kMaxHosts) refuse_host_list(list);
  for (uint64_t i = begin; i <= end; ++i) out.push_back(fmt::format("{:0{}}", i, first.size()));
}

std::vector<std::string> expand(std::string_view list, std::string_view part) {
  const size_t open = part.find('[');
  if (open == std::string_view::npos) return {std::string(part)};
  const size_t close = part.find(']', open);
  std::vector<std::string> numbers;
  std::istringstream ranges{std::string(part.substr(open + 1, close - open - 1))};
  for (std::string range; std::getline(ranges, range, ',');) expand_range(list, range, numbers);
  std::vector<std::string> hosts;
  const std::vector<std::string> tails = close + 1 == part.size()
                                             ? std::vector<std::string>{""}
                                             : expand(list, part.substr(close + 1));
  if (numbers.empty() || numbers.size() * tails.size() > kMaxHosts) refuse_host_list(list);
  for (const std::string& number : numbers) {
    for (const std::string& tail : tails)
      hosts.push_back(std::string(part.substr(0, open)) + number + tail);
  }
  return hosts;
}

}  // namespace

std::vector<std::string> parse_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  std::string_view rest = list;
  do {
    for (std::string& host : expand(list, take_part(list, rest))) hosts.push_back(std::move(host));
  } while (!rest.empty() && hosts.size() <= kMaxHosts);
  if (hosts.size() > kMaxHosts) refuse_host_list(list);
  return hosts;
}

namespace {

constexpr int kNodePort = 2223;  // of node-level launchers that name none

std::optional<int> master_port(const Variables& v) {
  const std::optional<int64_t> port = v.number({"MASTER_PORT"});
  if (!port) return std::nullopt;
  if (*port >= 1 && *port <= 65535) return int(*port);
  throw error_of(ErrorCode::invalid_argument, "MASTER_PORT is {}, expected 1 to 65535", *port);
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
    throw error_of(ErrorCode::invalid_argument,
                   "{} is {} of {}, but no variable gives the number of this process on its "
                   "machine; set LOCAL_RANK and LOCAL_WORLD_SIZE for each process, or give "
                   "--launcher none to train without the other processes",
                   names.rank, place.rank, place.world_size);
  }
  if (const char* const size_name = first_set(v, names.local_size, "LOCAL_WORLD_SIZE")) {
    place.local_world_size = int(v.required({size_name}));
    if (place.local_world_size > place.world_size) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is {}, but {} is only {}; correct the program that starts the processes",
                     size_name, place.local_world_size, names.size, place.world_size);
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

// The place of a process that a launcher started, by the variables of that launcher. What is read
// of the environment depends on `needs_meeting_point`: false where --dist-init-method names one.
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

// By an mpirun, or what else tells its processes their places as one does: PALS, Flux, jsrun.
ProcessPlace mpi_place(const Variables& v, bool needs_meeting_point) {
  const Starter starter = find_mpi_starter(v);
  const LauncherNames& names = starter.names;
  ProcessPlace place;
  place.world_size = int(starter.size);
  place.rank = int(starter.rank);
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
    throw error_of(ErrorCode::invalid_argument,
                   "the processes may run on several machines, but MASTER_ADDR (the address of "
                   "the first machine) is not set; set it with {}",
                   names.how_to_give);
  }
  const std::optional<int> port = master_port(v);
  if (!job && !port) {
    throw error_of(ErrorCode::invalid_argument,
                   "this MPI job has no id, so another job might use the same port; set "
                   "MASTER_PORT to a free port with {}",
                   names.how_to_give);
  }
  if (!job) place.key_prefix = fmt::format("ffkit/port{}", *port);
  place.meeting_point = tcp_meeting_point(*host, port ? *port : port_of_job(*job));
  return place;
}

// Counted by nodes: a process on each, which starts the others.
ProcessPlace node_place(const Variables& v, bool needs_meeting_point) {
  ProcessPlace place;
  const int64_t num_nodes = v.required({"WORLD_SIZE"});
  place.rank = v.rank({"RANK"}, num_nodes, "WORLD_SIZE, the number of nodes,");
  place.world_size = int(num_nodes);
  place.key_prefix = "ffkit";
  if (!needs_meeting_point) return place;
  place.meeting_point = tcp_meeting_point(v.text({"MASTER_ADDR"}).value_or("127.0.0.1"),
                                          master_port(v).value_or(kNodePort));
  return place;
}

constexpr LaunchWords kTrainingWords = {
    .no_number =
        "the environment variable {name} is '{value}', which is not a number; correct the program "
        "that starts the processes, or give --launcher none to train with only this process",
    .missing =
        "the environment variable {name} is not set, but the launcher {detail} needs it; start "
        "fftrain with that launcher, or give --launcher none to train without it",
    .too_high =
        "{name} is {value}, but {other} is only {other_value}; correct the program that starts the "
        "processes",
    .rank_alone =
        "{name} is {value}, but no variable gives the number of processes; start the processes "
        "with mpirun, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT for each "
        "process, or give --launcher none to train with only this process",
    .disagree = "name the launcher: --launcher torchrun, slurm, mpi, node or none",
    .too_large =
        "the environment variable {name} is {value}, which is too large; correct the program that "
        "starts the processes"};

// Where nobody has said which launcher it is.
constexpr LaunchWords kFindingWords = [] {
  LaunchWords words = kTrainingWords;
  words.missing =
      "the environment variable {other} is set, but {name} is not; set both variables, or unset "
      "both, or give --launcher none to train without other processes";
  return words;
}();

Launcher find_launcher(const Variables& v) {
  if (const std::optional<Starter> starter = find_starter(v)) {
    const bool is_torch = starter->names.launcher == Launcher::torchrun;
    const bool counts_nodes = is_torch && !v.has("TORCHELASTIC_RUN_ID") && !v.has("LOCAL_RANK");
    return counts_nodes ? Launcher::node : starter->names.launcher;
  }
  if (!is_in_slurm(v)) refuse_rank_alone(v);
  return Launcher::none;
}

constexpr char kBySlurm[] = "slurm";  // --dist-init-method: launcher and meeting point

// Whether `method` names a meeting point, instead of the environment.
bool names_meeting_point(const std::string& method) {
  return !method.empty() && method != "env" && method != "env://" && method != kBySlurm;
}

void apply_init_method(const std::string& method, ProcessPlace& place) {
  if (!names_meeting_point(method)) return;
  const std::optional<HostAndPort> tcp = host_and_port(method);
  if (!tcp && !meeting_file(method)) {
    throw error_of(
        ErrorCode::invalid_argument,
        "--dist-init-method is '{}', but it must be tcp://HOST:PORT, file:///PATH, env or slurm",
        method);
  }
  place.meeting_point = tcp ? tcp_meeting_point(tcp->host, tcp->port) : method;
  place.is_served = false;
  place.listening_socket = -1;
}

bool is_alone_on_machine(const Variables& v, Launcher launcher, const ProcessPlace& place) {
  if (launcher == Launcher::torchrun || place.local_world_size != 1) return false;
  return place.world_size == 1 || launcher == Launcher::mpi || has_a_task_per_node(v);
}

// The place of a process that is alone on its machine, and starts the others there.
void start_on_machine(int num_processes, LaunchPlan& plan) {
  plan.num_processes = num_processes;
  plan.place.rank *= num_processes;
  plan.place.world_size *= num_processes;
  plan.place.local_world_size = num_processes;
}

}  // namespace

LaunchPlan plan_launch(const LaunchOptions& options, const Environment& environment) {
  // What run_local_processes() started has the options of the command that started it.
  const bool is_started = environment(kStartedVariable).has_value();
  Launcher launcher = options.launcher;
  if (is_started) {
    launcher = Launcher::torchrun;
  } else if (launcher == Launcher::automatic && options.init_method == kBySlurm) {
    launcher = Launcher::slurm;
  } else if (launcher == Launcher::automatic) {
    launcher = find_launcher(Variables(environment, kFindingWords));
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
      plan.place = node_place(v, needs_meeting_point);
      start_on_machine(num_processes, plan);
      break;
    case Launcher::automatic:
    case Launcher::none:
      plan.place.world_size = plan.place.local_world_size = num_processes;
      plan.num_processes = num_processes > 1 ? num_processes : 0;
      break;
  }
  const bool starts_none = launcher != Launcher::none && launcher != Launcher::node;
  if (starts_none && !is_started && options.num_processes > 0) {
    if (!is_alone_on_machine(v, launcher, plan.place)) {
      throw error_of(ErrorCode::invalid_argument,
                     "--nproc is {}, but the launcher {} has already started all processes, "
                     "{} in all; leave --nproc out, or let srun or mpirun start one process "
                     "on each machine (--ntasks-per-node=1, --map-by ppr:1:node)",
                     options.num_processes, to_string(launcher), plan.place.world_size);
    }
    start_on_machine(num_processes, plan);
  }
  if (plan.place.world_size < 1)
    throw Error(ErrorCode::invalid_argument,
                "the environment says that 0 processes were started; correct the launcher");
  apply_init_method(options.init_method, plan.place);
  if (plan.place.world_size == 1) plan.place.meeting_point.clear();
  plan.place.backend = options.backend;
  plan.place.timeout_seconds = options.timeout_seconds;
  plan.place.launcher = launcher;
  return plan;
}

}  // namespace ffkit
