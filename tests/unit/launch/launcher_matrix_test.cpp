// Two launchers, one inside the other: who says which process this is. One table for ffconvert's
// parts, fftrain's processes and Python's loaders.
#include <array>

#include <ffkit/base/error.h>

#include "given_environment.h"
#include "launch/job_place.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::environment_of;
using testing::GivenVariables;

// What a launcher sets for process `rank` of `size`.
using Sets = GivenVariables (*)(const std::string& rank, const std::string& size);

struct Named {
  const char* name;
  Sets variables;
};

GivenVariables by_hand(const std::string& rank, const std::string& size) {
  return {{"RANK", rank}, {"WORLD_SIZE", size}, {"LOCAL_RANK", "0"}};
}
GivenVariables of_slurm(const std::string& rank, const std::string& size, const char* step) {
  return {{"SLURM_PROCID", rank},
          {"SLURM_NTASKS", size},
          {"SLURM_STEP_ID", step},
          {"SLURM_LOCALID", "0"},
          {"SLURM_JOB_ID", "7"}};
}

const Named kLaunchers[] = {
    {"torchrun",
     [](const std::string& rank, const std::string& size) {
       GivenVariables v = by_hand(rank, size);
       v["TORCHELASTIC_RUN_ID"] = "none";
       return v;
     }},
    {"Open MPI",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"OMPI_COMM_WORLD_RANK", rank},
               {"OMPI_COMM_WORLD_SIZE", size},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
     }},
    {"MVAPICH",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"MV2_COMM_WORLD_RANK", rank},
               {"MV2_COMM_WORLD_SIZE", size},
               {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
               {"MV2_COMM_WORLD_LOCAL_SIZE", "1"}};
     }},
    {"jsrun",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"JSM_NAMESPACE_RANK", rank},
               {"JSM_NAMESPACE_SIZE", size},
               {"JSM_NAMESPACE_LOCAL_RANK", "0"},
               {"JSM_NAMESPACE_LOCAL_SIZE", "1"}};
     }},
    {"Flux",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"FLUX_TASK_RANK", rank},
               {"FLUX_JOB_SIZE", size},
               {"FLUX_TASK_LOCAL_ID", "0"},
               {"FLUX_JOB_NNODES", size}};
     }},
    {"MPICH",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"PMI_RANK", rank},
               {"PMI_SIZE", size},
               {"MPI_LOCALRANKID", "0"},
               {"MPI_LOCALNRANKS", "1"}};
     }},
    {"PMI",
     [](const std::string& rank, const std::string& size) -> GivenVariables {
       return {{"PMI_RANK", rank}, {"PMI_SIZE", size}, {"PMI_LOCAL_RANK", "0"}};
     }},
    {"srun",
     [](const std::string& rank, const std::string& size) { return of_slurm(rank, size, "0"); }},
    {"sbatch", [](const std::string& /*rank*/,
                  const std::string& size) { return of_slurm("0", size, "4294967291"); }},
    {"by hand", by_hand},
};

struct Entrance {
  const char* name;
  std::string (*place)(const Environment& environment);  // "1 of 2"; "-": one process
};

std::string text_of(int64_t rank, int64_t size) {
  return std::to_string(rank) + " of " + std::to_string(size);
}

const Entrance kEntrances[] = {
    {"fftrain",
     [](const Environment& environment) {
       const LaunchPlan plan = plan_launch({.init_method = "tcp://h:1"}, environment);
       return plan.place.launcher == Launcher::none
                  ? "-"
                  : text_of(plan.place.rank, plan.place.world_size);
     }},
    {"ffconvert",
     [](const Environment& environment) -> std::string {
       try {
         const JobPlace place = find_job_place(environment, "give the part as part = i/n");
         return text_of(place.index, place.count);
       } catch (const Error& error) {
         if (std::string_view(error.what()).starts_with("the number of this process is unknown"))
           return "-";
         throw;
       }
     }},
    {"ffkit.Loader",
     [](const Environment& environment) {
       const std::optional<JobPlace> place = find_loader_place(environment);
       return place ? text_of(place->index, place->count) : "-";
     }},
};

// `expected`: rows are the outer launchers, columns the inner ones, in the order of kLaunchers. o:
// what the outer one says, i: the inner one, x: refused, -: it is one process.
void expect_matrix(const std::array<const char*, std::size(kLaunchers)>& expected,
                   const std::string& outer_rank, const std::string& outer_size,
                   const std::string& inner_rank, const std::string& inner_size) {
  for (const Entrance& entrance : kEntrances) {
    for (size_t row = 0; row < std::size(kLaunchers); ++row) {
      std::string found;
      for (const Named& inner : kLaunchers) {
        GivenVariables variables = inner.variables(inner_rank, inner_size);
        variables.merge(kLaunchers[row].variables(outer_rank, outer_size));
        std::string place;
        try {
          place = entrance.place(environment_of(variables));
        } catch (const Error& error) {
          EXPECT_TRUE(std::string_view(error.what()).starts_with("the variables of two launchers"))
              << entrance.name << ", " << inner.name << " in " << kLaunchers[row].name << ": "
              << error.what();
          place = "x";
        }
        found += place == outer_rank + " of " + outer_size   ? "o"
                 : place == inner_rank + " of " + inner_size ? "i"
                                                             : place;
      }
      EXPECT_EQ(found, expected[row])
          << entrance.name << ": what is started inside " << kLaunchers[row].name;
    }
  }
}

TEST(TwoLaunchers, ThatDisagreeAreRefusedUnlessOneIsKnownToBeTheInner) {
  expect_matrix(
      {
          "iooooooooi",  // torchrun
          "iixxxxxoox",  // Open MPI
          "ixixxxxoox",  // MVAPICH
          "ixxixxxoox",  // jsrun
          "ixxxixxoox",  // Flux
          "ixxxxiioox",  // MPICH
          "ixxxxiixox",  // PMI
          "iiiiiixi-x",  // srun
          "iiiiiiii-i",  // sbatch
          "ixxxxxxxoi",  // by hand
      },
      "1", "2", "2", "3");
}

TEST(TwoLaunchers, ThatAgreeAreOne) {
  expect_matrix(
      {
          "oooooooooo",  // torchrun
          "oooooooooo",  // Open MPI
          "oooooooooo",  // MVAPICH
          "oooooooooo",  // jsrun
          "oooooooooo",  // Flux
          "oooooooooo",  // MPICH
          "oooooooooo",  // PMI
          "oooooooo-o",  // srun
          "oooooooo-o",  // sbatch
          "oooooooooo",  // by hand
      },
      "1", "2", "1", "2");
}

// torchrun, and mpirun inside srun, are the inner ones whatever they say.
TEST(TwoLaunchers, OfWhichTheOuterHasOneProcess) {
  expect_matrix(
      {
          "iooooooooi",  // torchrun
          "iiiiiiiooi",  // Open MPI
          "iiiiiiiooi",  // MVAPICH
          "iiiiiiiooi",  // jsrun
          "iiiiiiiooi",  // Flux
          "iiiiiiiooi",  // MPICH
          "iiiiiiixoi",  // PMI
          "iiiiiiii-i",  // srun
          "iiiiiiii-i",  // sbatch
          "ixxxxxxxoi",  // by hand
      },
      "0", "1", "1", "2");
}

// A script that gives half of it beside a launcher.
TEST(TwoLaunchers, OfWhichOneSaysHalf) {
  const GivenVariables task = of_slurm("2", "4", "0");
  const auto place = [&](GivenVariables half) {
    half.merge(GivenVariables(task));
    return plan_launch({.init_method = "tcp://h:1"}, environment_of(half)).place;
  };
  EXPECT_EQ(place({{"WORLD_SIZE", "4"}}).rank, 2);
  EXPECT_EQ(place({{"RANK", "2"}}).world_size, 4);
  EXPECT_EQ(place({{"WORLD_SIZE", "1"}}).world_size, 4);
  EXPECT_ERROR(place({{"WORLD_SIZE", "8"}}), invalid_argument);
  EXPECT_ERROR(place({{"RANK", "0"}}), invalid_argument);
  EXPECT_ERROR(place({{"RANK", "0"}, {"WORLD_SIZE", "4"}}), invalid_argument);
  // The user knows better.
  EXPECT_EQ(plan_launch({.launcher = Launcher::slurm, .init_method = "tcp://h:1"},
                        environment_of({{"RANK", "0"},
                                        {"WORLD_SIZE", "8"},
                                        {"SLURM_PROCID", "2"},
                                        {"SLURM_NTASKS", "4"},
                                        {"SLURM_LOCALID", "0"}}))
                .place.rank,
            2);
}

// One task on each machine, which starts the processes of its GPUs.
TEST(TwoLaunchers, OfWhichTheInnerIsNproc) {
  GivenVariables task = {{"SLURM_PROCID", "1"},
                         {"SLURM_NTASKS", "2"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_JOB_ID", "7"},
                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}};
  const auto plan = [&](LaunchOptions options = {.num_processes = 4}) {
    return plan_launch(options, environment_of(task));
  };
  EXPECT_EQ(plan().num_processes, 4);
  EXPECT_EQ(plan().place.rank, 4);
  EXPECT_EQ(plan().place.world_size, 8);
  EXPECT_EQ(plan().place.local_world_size, 4);
  EXPECT_EQ(plan().place.meeting_point, "tcp://n1:20049");
  EXPECT_EQ(plan({.launcher = Launcher::slurm, .num_processes = 2}).place.rank, 2);
  EXPECT_EQ(plan({}).num_processes, 0);
  // A child of it.
  task["FFKIT_STARTED_BY_FFTRAIN"] = "1";
  task.merge(GivenVariables{{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "n1"},
                            {"MASTER_PORT", "20049"}});
  EXPECT_EQ(plan().num_processes, 0);
  EXPECT_EQ(plan().place.rank, 5);
  task.erase("FFKIT_STARTED_BY_FFTRAIN");
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
    task.erase(name);
  task["SLURM_STEP_TASKS_PER_NODE"] = "1,2";
  EXPECT_ERROR(plan(), invalid_argument);
  task.erase("SLURM_STEP_TASKS_PER_NODE");
  EXPECT_ERROR_CODE(plan(), invalid_argument);
  task["SLURM_NTASKS"] = "1";
  task["SLURM_PROCID"] = "0";
  EXPECT_EQ(plan().place.world_size, 4);
  EXPECT_EQ(plan().place.meeting_point, "");
  task = {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
          {"MASTER_ADDR", "h"},
          {"MASTER_PORT", "2000"}};
  EXPECT_EQ(plan().place.rank, 4);
  EXPECT_EQ(plan().place.world_size, 8);
}

}  // namespace
}  // namespace ffkit
