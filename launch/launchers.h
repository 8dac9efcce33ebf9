// Which program started this process as one of several, and what it says to each of them in its
// environment. The one table and the one rule of all entrances: ffconvert's parts, fftrain's
// processes, the shares of Python's loaders.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include <ffkit/launch/launch.h>

namespace ffkit {

// Variables: what launchers say in the environment of the processes that they started, and what is
// said of it when it cannot be.

// What run_local_processes() tells the processes that it starts, beside the variables that torchrun
// sets.
inline constexpr char kStartedVariable[] = "FFKIT_STARTED_BY_FFTRAIN";
// Descriptor of the socket on which rank 0 is to serve the store; it listens already, so no other
// program can take its port.
inline constexpr char kSocketVariable[] = "FFKIT_LISTENING_SOCKET";

// How one entrance speaks of variables: with what its user can do. The texts may hold {name} and
// {value} of the variable, {other} and {other_value} of the one that goes with it, and {detail}.
struct LaunchWords {
  const char* no_number;
  const char* missing;     // {name} must be there, because {other} is or the launcher needs it
  const char* too_high;    // {name} counts to less than {other}
  const char* rank_alone;  // {name} is a rank, and nothing says of how many
  const char* disagree;    // two launchers say different things: what the user can do
  const char* too_large = nullptr;  // more than an int holds; null: as no_number
};

// Variables that are set to nothing count as not set. Errors are Error(invalid_argument) that name
// the variable.
class Variables {
 public:
  // `environment` and `words` outlive this. `detail` stands for {detail} in the words.
  Variables(const Environment& environment, const LaunchWords& words, std::string detail = {})
      : environment_(environment), words_(words), detail_(std::move(detail)) {}

  bool has(const char* name) const { return text({name}).has_value(); }
  // The first of `names` that is set.
  std::optional<std::string> text(std::initializer_list<const char*> names) const;
  std::string required_text(std::initializer_list<const char*> names) const;
  // 0 or more, as an int holds it; spaces around it do not count.
  std::optional<int64_t> number(std::initializer_list<const char*> names) const;
  // `because`: a variable that is set, and makes no sense without.
  int64_t required(std::initializer_list<const char*> names, const char* because = "") const;
  // A number below `limit`, which is the value of `limit_name`.
  int rank(std::initializer_list<const char*> names, int64_t limit, const char* limit_name) const;

  // By a member of LaunchWords.
  [[noreturn]] void refuse(const char* words, const char* name, const char* other = "",
                           const std::string& other_value = {}) const;
  const LaunchWords& words() const { return words_; }
  const std::string& detail() const { return detail_; }

 private:
  const Environment& environment_;
  const LaunchWords& words_;
  std::string detail_;
};

// The variables of one launcher.
struct LauncherNames {
  Launcher launcher;  // torchrun, slurm or mpi
  const char* rank;
  const char* size;
  // No other program sets them for it: they count before those of Slurm, whose srun may have
  // started the launcher's daemons.
  bool is_certain = false;
  const char* how_to_give = nullptr;  // a variable to the processes
  std::array<const char*, 3> local_rank = {};
  std::array<const char*, 3> local_size = {};
  const char* num_nodes = nullptr;  // of one that has no local_size, but spreads them evenly
};

// RANK and WORLD_SIZE, which others than torchrun set too.
extern const LauncherNames kTorchNames;
// Those of mpirun's kind.
std::span<const LauncherNames> mpi_launchers();
// What tasks of this step are counted by.
LauncherNames names_of_step(const Variables& v);

// The launcher that started this process as one of several, and its place.
struct Starter {
  LauncherNames names;
  int64_t rank = 0;  // 0 .. size-1
  int64_t size = 1;
};

// By all launchers that left their variables, one inside the other. torchrun and mpirun count alone
// inside srun, and so does what says that there are several processes inside a launcher of one. All
// others must say the same: throws with the words `disagree`, and where one says half only, or a
// rank that is too high. Nothing: no launcher has started it.
std::optional<Starter> find_starter(const Variables& v);
// The same where the user says that it was one of mpirun's kind. Throws where nothing of one is
// set.
Starter find_mpi_starter(const Variables& v);

// Whether Slurm's variables are about this process, alone or as one of several.
bool is_in_slurm(const Variables& v);
// Whether srun started this process as a task. A batch script and the terminal of salloc have a
// SLURM_PROCID too. Where variables were passed on without the number of the step, nothing of the
// job may be there.
bool is_task_of_srun(const Variables& v);
// Whether Slurm's step of this number (SLURM_STEP_ID), which may not be set, consists of tasks that
// srun started.
bool is_step_of_srun(const std::optional<std::string>& step);
// Of the first machines of Slurm's step: 4 of "4(x2),1"; 0 where it is not known.
int tasks_of_first_node(const Variables& v);
// Whether each machine of Slurm's step has one task, as "1(x2)" says.
bool has_a_task_per_node(const Variables& v);

// Throws where a variable gives this process a number among others, but none says how many they
// are: launchers say that only to a library of theirs.
void refuse_rank_alone(const Variables& v);

}  // namespace ffkit
