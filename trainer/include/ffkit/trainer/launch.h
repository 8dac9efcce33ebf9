// Launching: how the processes of one training run are started, and how each learns its place among
// them.
//
//   none      fftrain starts the processes of this machine itself, one for each device
//   torchrun  PyTorch's launcher: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
//             MASTER_PORT; also anything else that sets these
//   slurm     srun: SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_STEP_NODELIST
//   mpi       mpirun of Open MPI, MPICH, Intel MPI or MVAPICH, PALS, jsrun, flux run: they
//             start the processes, the data moves by Gloo or NCCL
//   node      clusters that start one command a node: WORLD_SIZE is the number of nodes and RANK
//             that of this one
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

enum class Launcher { automatic, none, torchrun, slurm, mpi, node };
std::string_view to_string(Launcher launcher);
// Inverse of to_string ("auto" for automatic); throws Error(invalid_argument) that lists the names
// there are.
Launcher parse_launcher(std::string_view name);

struct LaunchOptions {
  Launcher launcher = Launcher::automatic;
  // Processes that fftrain starts on this machine, with the launchers none and node; 0: one for
  // each GPU, or 1 without GPUs.
  int num_processes = 0;
  bool bind_numa = true;  // each process runs on the NUMA node of its device
  std::string backend;    // "gloo", "nccl"; empty: nccl where processes train on GPUs
  // "tcp://host:port", "file:///path", "env"; empty: what the launcher says.
  std::string init_method;
  double timeout_seconds = 1800;  // of joining and of every collective operation
  // Of run_local_processes(): what it is called in its messages, and whether lines on standard
  // output have the rank before them.
  std::string program = "fftrain";
  bool marks_output = true;
};

// The place of this process among those that train one model together, and how they meet. A plain
// value.
struct ProcessPlace {
  int rank = 0;        // 0 .. world_size-1; rank 0 writes checkpoints and talks
  int world_size = 1;  // processes that share each epoch
  int local_rank = 0;  // 0 .. local_world_size-1, among those on this machine: number of its device
  int local_world_size = 1;
  std::string meeting_point;  // "tcp://host:port" or "file:///path"; empty in a world of one
  // something else, such as torchrun's agent, serves the TCP store; otherwise rank 0 does
  bool is_served = false;
  int listening_socket = -1;  // of the store that rank 0 serves, where it is already open
  // Of everything this run writes into the store: another after each restart.
  std::string key_prefix;
  std::string backend;  // as in LaunchOptions
  double timeout_seconds = 1800;
  Launcher launcher = Launcher::none;  // that was found
};

// What fftrain is to do: be one of the processes, or start those of this machine.
struct LaunchPlan {
  ProcessPlace place;     // of this process, or of the first one to be started
  int num_processes = 0;  // to be started here; 0: this process is itself one of them
};

// Value of an environment variable, nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// Finds the place of this process. Throws Error(invalid_argument) when the environment of the
// launcher is half-set or contradicts itself, in one sentence that names the variable.
LaunchPlan plan_launch(const LaunchOptions& options,
                       const Environment& environment = process_environment());

// The hosts of a Slurm list: "a[08-10,12],b" -> a08, a09, a10, a12, b. Throws
// Error(invalid_argument).
std::vector<std::string> parse_host_list(std::string_view list);

// GPUs that a process here can be given: those that the NVIDIA driver lists, or of
// CUDA_VISIBLE_DEVICES; 0 without a driver.
int count_gpus(const Environment& environment = process_environment());

// Starts the processes of `plan` as `arguments` (the first names the program), each knowing its
// place by the environment, and waits for them. Their output goes to this process' with the rank
// before every line (LaunchOptions::marks_output). SIGTERM, SIGINT, SIGHUP and SIGUSR1 are passed
// on. When one ends with an error the others are ended, by SIGTERM and after 30 s by SIGKILL; the
// first one's exit status is returned (128 + the number of the signal it died of), 0 when all went
// well. Throws Error(io) when a process cannot be started.
int run_local_processes(const LaunchPlan& plan, const LaunchOptions& options,
                        const std::vector<std::string>& arguments);

// Binds this process, its threads to come and their memory to the NUMA node of `place`: that of its
// GPU, or its share of the nodes without GPUs. Nothing on a machine of one node.
void bind_to_numa_node(const ProcessPlace& place,
                       const Environment& environment = process_environment());

}  // namespace ffkit
