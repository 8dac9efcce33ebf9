#include <ffkit/launch/launch.h>
#include <ffkit/launch/stop.h>

#include "given_environment.h"
#include "launch/waiting.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using std::chrono::milliseconds;
using testing::environment_of;
using testing::GivenVariables;

LaunchPlan plan(const GivenVariables& variables, const LaunchOptions& options = {}) {
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
    EXPECT_ERROR(parse_host_list(text), invalid_argument) << text;
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
  GivenVariables v = {{"SLURM_PROCID", "3"},
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
  // A batch script itself is one process, whatever number of tasks it may start; so are the
  // terminal of salloc and what else Slurm gives a number that is no step's.
  for (const char* step :
       {"", "4294967290", "4294967291", "4294967292", "4294967293", "4294967294", "interactive"}) {
    v["SLURM_STEP_ID"] = step;
    EXPECT_EQ(plan(v).place.launcher, Launcher::none) << step;
    EXPECT_EQ(plan(v).place.world_size, 1) << step;
    EXPECT_EQ(plan(v, {.num_processes = 2}).num_processes, 2) << step;
  }
  v["SLURM_STEP_ID"] = "4294967290";
  EXPECT_EQ(plan(v, {.launcher = Launcher::slurm}).place.world_size, 1);
  // Slurm gives the steps of its clusters' federations large numbers.
  v["SLURM_STEP_ID"] = "4294967289";
  EXPECT_EQ(plan(v).place.world_size, 4);
}

TEST(PlanLaunch, TakesSlurmsNumbersAsText) {
  GivenVariables v = {{"SLURM_PROCID", "1"},
                      {"SLURM_NTASKS", "2"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_STEP_NODELIST", "a"}};
  std::string before;
  for (const char* job : {"2147483648", "3000000001", "18446744073709551616", "12_3", "job7"}) {
    v["SLURM_JOB_ID"] = job;
    const ProcessPlace place = plan(v).place;
    EXPECT_EQ(place.rank, 1) << job;
    EXPECT_NE(place.meeting_point, before) << job;
    EXPECT_NE(place.key_prefix.find(job), std::string::npos) << job;
    before = place.meeting_point;
  }
  v["SLURM_STEP_ID"] = "1";
  EXPECT_NE(plan(v).place.meeting_point, before);
  v["SLURM_RESTART_COUNT"] = "many";
  EXPECT_EQ(plan(v).place.rank, 1);
}

TEST(PlanLaunch, ReadsOnlyWhatIsNeeded) {
  GivenVariables slurm = {{"SLURM_PROCID", "1"},          {"SLURM_NTASKS", "2"},
                          {"SLURM_LOCALID", "0"},         {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_NODELIST", "a[["}, {"SLURM_JOB_ID", "7"}};
  EXPECT_ERROR(plan(slurm), invalid_argument);
  EXPECT_EQ(plan(slurm, {.init_method = "tcp://h:1"}).place.meeting_point, "tcp://h:1");
  slurm["MASTER_ADDR"] = "b";
  EXPECT_EQ(plan(slurm).place.meeting_point, "tcp://b:20049");
  slurm.erase("SLURM_JOB_ID");
  EXPECT_ERROR(plan(slurm), invalid_argument);
  slurm["MASTER_PORT"] = "2000";
  EXPECT_EQ(plan(slurm).place.meeting_point, "tcp://b:2000");
  EXPECT_EQ(plan({{"SLURM_PROCID", "0"},
                  {"SLURM_NTASKS", "1"},
                  {"SLURM_LOCALID", "0"},
                  {"SLURM_STEP_ID", "0"}})
                .place.world_size,
            1);
  GivenVariables torchrun = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}};
  EXPECT_EQ(plan(torchrun, {.init_method = "file:///f"}).place.meeting_point, "file:///f");
  const GivenVariables mpi = {
      {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_LOCAL_RANK", "0"}, {"PMI_LOCAL_SIZE", "1"}};
  EXPECT_ERROR(plan(mpi), invalid_argument);
  EXPECT_EQ(plan(mpi, {.init_method = "file:///f"}).place.meeting_point, "file:///f");
}

TEST(PlanLaunch, TakesMpisPlace) {
  GivenVariables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
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
  open_mpi["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  open_mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_ERROR(plan(open_mpi), invalid_argument);
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

// What each sets for the fourth of four processes, the second on the second of two machines.
const std::map<std::string, GivenVariables> kSecondMachine = {
    {"MPICH",
     {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}}},
    {"PMI",
     {{"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"PMI_LOCAL_RANK", "1"},
      {"PMI_LOCAL_SIZE", "2"},
      {"PMI_JOBID", "j"}}},
    {"PALS",
     {{"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"PALS_RANKID", "3"},
      {"PALS_LOCAL_RANKID", "1"},
      {"PALS_LOCAL_SIZE", "2"},
      {"PALS_APID", "j"}}},
    {"Flux",
     {{"FLUX_TASK_RANK", "3"},
      {"FLUX_JOB_SIZE", "4"},
      {"FLUX_TASK_LOCAL_ID", "1"},
      {"FLUX_JOB_NNODES", "2"},
      {"FLUX_JOB_ID", "f2Vb"}}},
    {"Flux with PMI",
     {{"FLUX_TASK_RANK", "3"},
      {"FLUX_JOB_SIZE", "4"},
      {"FLUX_TASK_LOCAL_ID", "1"},
      {"FLUX_JOB_NNODES", "2"},
      {"FLUX_JOB_ID", "f2Vb"},
      {"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"PMI_FD", "9"}}},
    // The tasks of a Flux that Slurm started have the variables of its broker too.
    {"Flux in Slurm",
     {{"FLUX_TASK_RANK", "3"},
      {"FLUX_JOB_SIZE", "4"},
      {"FLUX_TASK_LOCAL_ID", "1"},
      {"FLUX_JOB_NNODES", "2"},
      {"FLUX_JOB_ID", "f2Vb"},
      {"SLURM_PROCID", "0"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_NTASKS", "2"},
      {"SLURM_LOCALID", "0"}}},
    {"MVAPICH2",
     {{"MV2_COMM_WORLD_RANK", "3"},
      {"MV2_COMM_WORLD_SIZE", "4"},
      {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
      {"MV2_COMM_WORLD_LOCAL_SIZE", "2"},
      {"MPIRUN_ID", "77"}}},
    {"MVAPICH",
     {{"MVP_COMM_WORLD_RANK", "3"},
      {"MVP_COMM_WORLD_SIZE", "4"},
      {"MVP_COMM_WORLD_LOCAL_RANK", "1"},
      {"MVP_COMM_WORLD_LOCAL_SIZE", "2"}}},
    {"jsrun",
     {{"JSM_NAMESPACE_RANK", "3"},
      {"JSM_NAMESPACE_SIZE", "4"},
      {"JSM_NAMESPACE_LOCAL_RANK", "1"},
      {"JSM_NAMESPACE_LOCAL_SIZE", "2"}}},
    {"PMI with torch's names",
     {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}},
};

TEST(PlanLaunch, KnowsTheRankOnItsMachine) {
  for (auto [name, v] : kSecondMachine) {
    EXPECT_ERROR(plan(v), invalid_argument) << name;  // never 127.0.0.1
    v["MASTER_ADDR"] = "h";
    v["MASTER_PORT"] = "2000";
    const ProcessPlace place = plan(v).place;
    EXPECT_EQ(place.launcher, Launcher::mpi) << name;
    EXPECT_EQ(place.rank, 3) << name;
    EXPECT_EQ(place.world_size, 4) << name;
    EXPECT_EQ(place.local_rank, 1) << name;
    EXPECT_EQ(place.local_world_size, 2) << name;
    EXPECT_EQ(place.meeting_point, "tcp://h:2000") << name;
  }
}

TEST(PlanLaunch, AsksForTheRankOnItsMachine) {
  GivenVariables v = {
      {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}};
  EXPECT_ERROR(plan(v), invalid_argument);
  v["PMI_LOCAL_RANK"] = "2";
  v["PMI_LOCAL_SIZE"] = "2";
  EXPECT_ERROR(plan(v), invalid_argument);
  v["PMI_LOCAL_SIZE"] = "3";
  EXPECT_ERROR(plan(v), invalid_argument);
  // That all are on this machine is not said.
  v = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_LOCAL_RANK", "1"}, {"MASTER_PORT", "1"}};
  EXPECT_ERROR(plan(v), invalid_argument);
  EXPECT_EQ(plan({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).place.world_size, 1);
  GivenVariables flux = kSecondMachine.at("Flux");
  flux["FLUX_JOB_NNODES"] = "1";
  EXPECT_TRUE(plan(flux).place.meeting_point.starts_with("tcp://127.0.0.1:"));
}

// As many trainings as processes, each of which ends well, are no training of several processes.
TEST(PlanLaunch, RefusesARankWithoutANumberOfProcesses) {
  const GivenVariables prterun = {
      {"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "n"}, {"PRTE_LAUNCHED", "1"}};
  EXPECT_ERROR(plan(prterun), invalid_argument);
  // prterun starts its daemons by srun where it can.
  GivenVariables in_slurm = prterun;
  in_slurm.merge(GivenVariables{{"SLURM_PROCID", "1"},
                                {"SLURM_STEP_ID", "0"},
                                {"SLURM_NTASKS", "2"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURM_JOB_ID", "1"},
                                {"SLURM_STEP_NODELIST", "a"}});
  EXPECT_ERROR(plan(in_slurm), invalid_argument);
  EXPECT_ERROR(plan({{"ALPS_APP_PE", "1"}}), invalid_argument);
  EXPECT_ERROR(plan({{"PALS_RANKID", "1"}, {"PALS_LOCAL_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(plan(prterun, {.launcher = Launcher::mpi}), invalid_argument);
  EXPECT_EQ(plan(prterun, {.launcher = Launcher::none}).place.world_size, 1);
  GivenVariables by_hand = prterun;
  by_hand.merge(GivenVariables{{"RANK", "0"},
                               {"WORLD_SIZE", "2"},
                               {"LOCAL_RANK", "0"},
                               {"MASTER_ADDR", "h"},
                               {"MASTER_PORT", "1"}});
  EXPECT_EQ(plan(by_hand).place.launcher, Launcher::torchrun);
  // srun and the terminal of salloc may have it beside Slurm's own.
  in_slurm.erase("PRTE_LAUNCHED");
  EXPECT_EQ(plan(in_slurm).place.rank, 1);
  in_slurm["SLURM_STEP_ID"] = "4294967290";
  EXPECT_EQ(plan(in_slurm).place.world_size, 1);
}

// Two jobs on one machine must not meet each other.
TEST(PlanLaunch, TellsMpiJobsApartOrAsksForAPort) {
  GivenVariables v = {{"PMI_RANK", "0"},
                      {"PMI_SIZE", "2"},
                      {"HYDI_CONTROL_FD", "8"},
                      {"MPI_LOCALRANKID", "0"},
                      {"MPI_LOCALNRANKS", "2"}};
  EXPECT_ERROR(plan(v), invalid_argument);
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
  EXPECT_ERROR(plan({{"RANK", "0"}}), invalid_argument);
  EXPECT_ERROR(plan({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}), invalid_argument);
  EXPECT_ERROR(plan({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(plan({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(plan({}, {.launcher = Launcher::slurm}), invalid_argument);
  EXPECT_ERROR(plan({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}),
               invalid_argument);
  EXPECT_ERROR(from_name<Launcher>("slrum"), invalid_argument);
}

TEST(PlanLaunch, RefusesAProcessCountUnderALauncherThatStartsThem) {
  EXPECT_ERROR(plan({{"RANK", "0"},
                     {"WORLD_SIZE", "2"},
                     {"LOCAL_RANK", "0"},
                     {"MASTER_ADDR", "h"},
                     {"MASTER_PORT", "1"}},
                    {.num_processes = 2}),
               invalid_argument);
}

TEST(PlanLaunch, KnowsTheWordsOfOthers) {
  EXPECT_EQ(from_name<Launcher>("pytorch"), Launcher::torchrun);
  EXPECT_EQ(to_string(Launcher::torchrun), "torchrun");
  const GivenVariables two = {{"RANK", "1"},
                              {"WORLD_SIZE", "2"},
                              {"LOCAL_RANK", "1"},
                              {"MASTER_ADDR", "h"},
                              {"MASTER_PORT", "2000"}};
  EXPECT_EQ(plan(two, {.init_method = "env://"}).place.meeting_point, "tcp://h:2000");
  EXPECT_ERROR(plan(two, {.init_method = "slurm"}), invalid_argument);
  const GivenVariables slurm = {{"SLURM_PROCID", "1"},        {"SLURM_NTASKS", "2"},
                                {"SLURM_LOCALID", "1"},       {"SLURM_STEP_ID", "0"},
                                {"SLURM_STEP_NODELIST", "a"}, {"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(plan(slurm, {.init_method = "slurm"}).place.meeting_point, "tcp://a:20049");
}

TEST(PlanLaunch, TakesTheMeetingPointThatIsGiven) {
  EXPECT_EQ(plan({}, {.num_processes = 2, .init_method = "file:///tmp/x"}).place.meeting_point,
            "file:///tmp/x");
  EXPECT_ERROR(plan({}, {.num_processes = 2, .init_method = "udp://x"}), invalid_argument);
}

TEST(PlanLaunch, TakesAddressesOfIpv6AsTheyAreWritten) {
  for (const char* host : {"[::1]", "::1"}) {
    const std::string method = std::string("tcp://") + host + ":2000";
    EXPECT_EQ(plan({}, {.num_processes = 2, .init_method = method}).place.meeting_point,
              "tcp://[::1]:2000");
    EXPECT_EQ(plan({{"RANK", "0"},
                    {"WORLD_SIZE", "2"},
                    {"LOCAL_RANK", "0"},
                    {"MASTER_ADDR", host},
                    {"MASTER_PORT", "2000"}})
                  .place.meeting_point,
              "tcp://[::1]:2000");
  }
  for (const char* method :
       {"tcp://h", "tcp://:1", "tcp://h:", "tcp://h:0", "tcp://h:65536", "tcp://h:x",
        "tcp://[::1:1", "tcp://[]:1", "tcp://[::1]1", "tcp://[::1]", "TCP://h:1"})
    EXPECT_ERROR(plan({}, {.num_processes = 2, .init_method = method}), invalid_argument) << method;
}

// A wait that nothing but a request to stop ends.
void wait_for_ever() {
  for (;;) std::this_thread::sleep_for(milliseconds(100));
}

class StopDeathTest : public ::testing::Test {
 protected:
  StopDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(StopDeathTest, EndsAWaitThatHasNothingToLose) {
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP}) {
    EXPECT_EXIT(
        {
          std::signal(SIGHUP, SIG_DFL);  // under nohup it is ignored
          stop_on_signals();
          const Waiting waiting("waiting in a test", Waiting::kNothingToLose);
          raise(signal);
          wait_for_ever();
        },
        ::testing::ExitedWithCode(kExitStopped), "stopped by SIG.* while it was waiting in a test");
  }
}

TEST_F(StopDeathTest, EndsAWaitThatBeginsAfterTheRequest) {
  EXPECT_EXIT(
      {
        stop_on_signals();
        raise(SIGINT);
        const Waiting waiting("waiting in a test", Waiting::kNothingToLose);
        wait_for_ever();
      },
      ::testing::ExitedWithCode(128 + SIGINT), "stopped by SIGINT");
}

// The longer wait is not over, the one inside it is; a wait that was ended in time counts no more.
TEST_F(StopDeathTest, HasThePatienceOfEachWait) {
  EXPECT_EXIT(
      {
        stop_on_signals();
        const Waiting outer("too long", std::chrono::hours(1));
        { const Waiting done("over", milliseconds(10)); }
        raise(SIGTERM);
        const Waiting inner("short", milliseconds(50));
        wait_for_ever();
      },
      ::testing::ExitedWithCode(kExitStopped), "while it was short");
}

TEST_F(StopDeathTest, LeavesAnIgnoredHangUpIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        stop_on_signals();
        raise(SIGHUP);
        std::_Exit(stop_signal() == 0 ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace ffkit
