// Launching: starts the processes of a run, and finds the place of each process.
//
//   none      fftrain starts the processes of this machine itself, one for each device
//   torchrun  PyTorch's launcher: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
//             MASTER_PORT; also anything else that sets these variables
//   slurm     srun: SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_NODELIST
//   mpi       mpirun of Open MPI, MPICH, Intel MPI or MVAPICH, PALS, jsrun, flux run: they
//             start the processes, the data moves by Gloo or NCCL
//   node      clusters that start one command a node: WORLD_SIZE is the number of nodes, RANK
//             this node's number
// May change in any version (docs/stability.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/enum_names.h>

namespace ffkit {

enum class Launcher { automatic, none, torchrun, slurm, mpi, node };
template <>
inline constexpr auto kNames<Launcher> =
    enum_names<Launcher>("launcher", {{Launcher::automatic, "auto"},
                                      {Launcher::none, "none"},
                                      {Launcher::torchrun, "torchrun"},
                                      {Launcher::slurm, "slurm"},
                                      {Launcher::mpi, "mpi"},
                                      {Launcher::node, "node"},
                                      {Launcher::torchrun, "pytorch"}});  // MMEngine's word

struct LaunchOptions {
  Launcher launcher = Launcher::automatic;
  // Number of processes that fftrain starts on this machine with the launchers none and node. 0:
  // one for each GPU, or 1 without GPUs.
  int num_processes = 0;
  bool bind_numa = true;  // each process runs on the NUMA node of its device
  std::string backend;    // "gloo" or "nccl"; empty: nccl if processes train on GPUs, else gloo
  // "tcp://host:port", "file:///path", "env"; empty: what the launcher says.
  std::string init_method;
  double timeout_seconds = 1800;  // of joining, and of every collective operation
  // For run_local_processes(): the program's name in messages, and whether lines on standard output
  // begin with the rank.
  std::string program = "fftrain";
  bool marks_output = true;
};

// The place of this process among those that train a model together, and their meeting point. A
// plain value.
struct ProcessPlace {
  int rank = 0;        // 0 .. world_size-1; rank 0 writes checkpoints and talks
  int world_size = 1;  // processes that share each epoch
  int local_rank = 0;  // 0 .. local_world_size-1, among those on this machine: number of its device
  int local_world_size = 1;
  std::string meeting_point;  // "tcp://host:port" or "file:///path"; empty in a world of one
  bool is_served = false;     // torchrun's agent, or the like, serves the TCP store; else rank 0
  int listening_socket = -1;  // of the store that rank 0 serves, if it is open already
  // All keys that this run writes into the store begin with it. Each restart has another one.
  std::string key_prefix;
  std::string backend;  // as in LaunchOptions
  double timeout_seconds = 1800;
  Launcher launcher = Launcher::none;  // the one that was found
};

// What fftrain must do: be one of the processes, or start those of this machine.
struct LaunchPlan {
  ProcessPlace place;     // of this process, or of the first one that it starts
  int num_processes = 0;  // that it starts; 0: this process is one of them
};

// The value of an environment variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// Finds the place of this process. Throws Error(invalid_argument) that names the variable if the
// launcher's environment is incomplete or contradicts itself.
LaunchPlan plan_launch(const LaunchOptions& options,
                       const Environment& environment = process_environment());

// The hosts of a Slurm list: "a[08-10,12],b" -> a08, a09, a10, a12, b. Throws
// Error(invalid_argument).
std::vector<std::string> parse_host_list(std::string_view list);

// The number of GPUs for processes here: those that the NVIDIA driver lists, or those of
// CUDA_VISIBLE_DEVICES. 0 without a driver.
int count_gpus(const Environment& environment = process_environment());

// `environment` for a process that trains on `device` (TrainOptions::device): cpu sees no GPU,
// cuda:N sees only that one. plan_launch() and bind_to_numa_node() use the visible GPUs.
Environment environment_seeing(const std::string& device,
                               Environment environment = process_environment());

// Starts the processes of `plan` and waits for them. `arguments` are their command line, the
// program first; their places are in the environment. Their output goes to this process's output,
// with the rank before each line (LaunchOptions::marks_output). The signals of stop_on_signals()
// are passed on. If one process ends with an error, the others get SIGTERM, and SIGKILL after 30 s.
// If the run is stopped, they get it 20 s after the request, but at least 3 s after the first end.
// Returns 0, or the exit status of the process that failed first (128 + the number of the signal
// that killed it). Throws Error(io) if a process cannot be started.
int run_local_processes(const LaunchPlan& plan, const LaunchOptions& options,
                        const std::vector<std::string>& arguments);

// Binds this process, its future threads and their memory to a NUMA node: that of its GPU, or
// without GPUs to its share of the nodes. Does nothing on a machine with one node.
void bind_to_numa_node(const ProcessPlace& place,
                       const Environment& environment = process_environment());

}  // namespace ffkit
