#include <gtest/gtest.h>

#include <map>

#include <ffkit/format/error.h>
#include <ffkit/trainer/launch.h>

#include "expect_error.h"

namespace ffkit {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

LaunchPlan plan(const Variables& variables, const LaunchOptions& options = {}) {
  return plan_launch(options, environment_of(variables));
}

TEST(HostList, IsExpandedAsSlurmDoes) {
  using Hosts = std::vector<std::string>;
  EXPECT_EQ(parse_host_list("a"), (Hosts{"a"}));
  EXPECT_EQ(parse_host_list("a,b-1"), (Hosts{"a", "b-1"}));
  EXPECT_EQ(parse_host_list("node[08-10,12],gpu1"),
            (Hosts{"node08", "node09", "node10", "node12", "gpu1"}));
  EXPECT_EQ(parse_host_list("r[1-2]n[3,5]x"), (Hosts{"r1n3x", "r1n5x", "r2n3x", "r2n5x"}));
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* text :
       {"", ",", "a,", "a[1", "a]1[", "a[2-1]", "a[]", "a[x]", "a[1-99999999999]", "a[[1]]"}) {
    EXPECT_ERROR(parse_host_list(text), invalid_argument, "no list of hosts") << text;
  }
}

TEST(PlanLaunch, IsAloneWithoutALauncher) {
  const LaunchPlan p = plan({});
  EXPECT_EQ(p.num_processes, 0);
  EXPECT_EQ(p.place.world_size, 1);
  EXPECT_EQ(p.place.launcher, Launcher::none);
  EXPECT_TRUE(p.place.meeting_point.empty());
}

TEST(PlanLaunch, StartsTheProcessesThatAreAskedFor) {
  const LaunchPlan p = plan({}, {.num_processes = 3});
  EXPECT_EQ(p.num_processes, 3);
  EXPECT_EQ(p.place.world_size, 3);
}

TEST(PlanLaunch, TakesTorchrunsPlace) {
  const LaunchPlan p = plan({{"TORCHELASTIC_RUN_ID", "x"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"},
                             {"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "h"},
                             {"MASTER_PORT", "29500"}});
  EXPECT_EQ(p.num_processes, 0);
  EXPECT_EQ(p.place.rank, 5);
  EXPECT_EQ(p.place.world_size, 8);
  EXPECT_EQ(p.place.local_rank, 1);
  EXPECT_EQ(p.place.local_world_size, 4);
  EXPECT_EQ(p.place.meeting_point, "tcp://h:29500");
  EXPECT_TRUE(p.place.is_served);
  EXPECT_EQ(p.place.key_prefix, "ffkit/2");
}

TEST(PlanLaunch, TakesSlurmsPlace) {
  Variables v = {{"SLURM_PROCID", "3"},
                 {"SLURM_NTASKS", "4"},
                 {"SLURM_LOCALID", "1"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_JOB_ID", "1234"},
                 {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                 {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}};
  const LaunchPlan p = plan(v);
  EXPECT_EQ(p.place.launcher, Launcher::slurm);
  EXPECT_EQ(p.place.rank, 3);
  EXPECT_EQ(p.place.local_world_size, 2);
  EXPECT_EQ(p.place.meeting_point, "tcp://gpu07:28638");
  EXPECT_FALSE(p.place.is_served);
  v["SLURM_RESTART_COUNT"] = "1";
  EXPECT_NE(plan(v).place.key_prefix, p.place.key_prefix);
  // A batch script itself is one process, whatever number of tasks it may start.
  v.erase("SLURM_STEP_ID");
  EXPECT_EQ(plan(v).place.launcher, Launcher::none);
}

TEST(PlanLaunch, TakesMpisPlace) {
  Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                        {"PMIX_NAMESPACE", "123"}};
  const ProcessPlace a = plan(open_mpi).place;
  EXPECT_EQ(a.launcher, Launcher::mpi);
  EXPECT_EQ(a.rank, 1);
  EXPECT_TRUE(a.meeting_point.starts_with("tcp://127.0.0.1:"));
  open_mpi["PMIX_NAMESPACE"] = "124";
  EXPECT_NE(plan(open_mpi).place.meeting_point, a.meeting_point);
  open_mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_ERROR(plan(open_mpi), invalid_argument, "MASTER_ADDR");
  const ProcessPlace mpich = plan({{"PMI_RANK", "2"},
                                   {"PMI_SIZE", "4"},
                                   {"MPI_LOCALRANKID", "0"},
                                   {"MPI_LOCALNRANKS", "2"},
                                   {"MASTER_ADDR", "h"},
                                   {"MASTER_PORT", "2000"}})
                                 .place;
  EXPECT_EQ(mpich.rank, 2);
  EXPECT_EQ(mpich.local_world_size, 2);
  EXPECT_EQ(mpich.meeting_point, "tcp://h:2000");
}

// Two jobs on one machine must not meet each other.
TEST(PlanLaunch, TellsMpiJobsApartOrAsksForAPort) {
  Variables v = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"HYDI_CONTROL_FD", "8"}};
  EXPECT_ERROR(plan(v), invalid_argument, "nothing tells this MPI job from others");
  v["MASTER_PORT"] = "2000";
  const ProcessPlace first = plan(v).place;
  EXPECT_EQ(first.meeting_point, "tcp://127.0.0.1:2000");
  v["MASTER_PORT"] = "2001";
  EXPECT_NE(plan(v).place.key_prefix, first.key_prefix);
  v.erase("MASTER_PORT");
  v["SLURM_JOB_ID"] = "7";
  const ProcessPlace second = plan(v).place;
  v["SLURM_JOB_ID"] = "8";
  EXPECT_NE(plan(v).place.meeting_point, second.meeting_point);
  EXPECT_NE(plan(v).place.key_prefix, second.key_prefix);
}

TEST(PlanLaunch, CountsNodesUnderNodeLaunchers) {
  const LaunchPlan p = plan({{"WORLD_SIZE", "3"}, {"RANK", "2"}}, {.num_processes = 4});
  EXPECT_EQ(p.place.launcher, Launcher::node);
  EXPECT_EQ(p.num_processes, 4);
  EXPECT_EQ(p.place.rank, 8);
  EXPECT_EQ(p.place.world_size, 12);
  EXPECT_EQ(p.place.meeting_point, "tcp://127.0.0.1:2223");
}

TEST(PlanLaunch, ExplainsAHalfSetEnvironment) {
  EXPECT_ERROR(plan({{"RANK", "0"}}), invalid_argument, "RANK is set but WORLD_SIZE is not");
  EXPECT_ERROR(plan({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}), invalid_argument,
               "MASTER_ADDR is not set");
  EXPECT_ERROR(plan({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), invalid_argument,
               "'x', which is no number");
  EXPECT_ERROR(plan({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), invalid_argument, "RANK is 2");
  EXPECT_ERROR(plan({}, {.launcher = Launcher::slurm}), invalid_argument,
               "SLURM_STEP_NUM_TASKS is not set");
  EXPECT_ERROR(plan({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}),
               invalid_argument, "70000");
  EXPECT_ERROR(parse_launcher("slrum"), invalid_argument, "torchrun, slurm");
}

TEST(PlanLaunch, RefusesAProcessCountUnderALauncherThatStartsThem) {
  EXPECT_ERROR(plan({{"RANK", "0"},
                     {"WORLD_SIZE", "2"},
                     {"LOCAL_RANK", "0"},
                     {"MASTER_ADDR", "h"},
                     {"MASTER_PORT", "1"}},
                    {.num_processes = 2}),
               invalid_argument, "--nproc is 2");
}

TEST(PlanLaunch, TakesTheMeetingPointThatIsGiven) {
  EXPECT_EQ(plan({}, {.num_processes = 2, .init_method = "file:///tmp/x"}).place.meeting_point,
            "file:///tmp/x");
  EXPECT_ERROR(plan({}, {.num_processes = 2, .init_method = "udp://x"}), invalid_argument,
               "udp://x");
}

}  // namespace
}  // namespace ffkit
