#include "launch/job_place.h"

#include "given_environment.h"
#include "launch/launchers.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using JobVariables = testing::GivenVariables;

JobPlace place(const JobVariables& variables) {
  return find_job_place(testing::environment_of(variables), "give the part as part = i/n");
}

JobVariables array_of(int first, int last, int step, int count, int task) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(task)},
          {"SLURM_ARRAY_TASK_MIN", std::to_string(first)},
          {"SLURM_ARRAY_TASK_MAX", std::to_string(last)},
          {"SLURM_ARRAY_TASK_STEP", std::to_string(step)},
          {"SLURM_ARRAY_TASK_COUNT", std::to_string(count)},
          // Of the batch script that is the task.
          {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "1"},
          {"SLURM_JOB_ID", "7"}};
}

JobVariables with(JobVariables variables, const JobVariables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

void expect_place(const JobVariables& variables, int64_t index, int64_t count,
                  const std::string& found_by) {
  const JobPlace found = place(variables);
  EXPECT_EQ(found.index, index) << found_by;
  EXPECT_EQ(found.count, count) << found_by;
  EXPECT_EQ(found.found_by, found_by);
}

TEST(JobPlace, ArraysNeedNotBeginWithZeroOrOne) {
  expect_place(array_of(0, 7, 1, 8, 0), 0, 8, "SLURM_ARRAY_TASK_ID");
  expect_place(array_of(0, 7, 1, 8, 7), 7, 8, "SLURM_ARRAY_TASK_ID");
  expect_place(array_of(1, 8, 1, 8, 3), 2, 8, "SLURM_ARRAY_TASK_ID");
  expect_place(array_of(100, 103, 1, 4, 102), 2, 4, "SLURM_ARRAY_TASK_ID");
  expect_place(array_of(5, 5, 1, 1, 5), 0, 1, "SLURM_ARRAY_TASK_ID");
  JobVariables without_step = array_of(1, 8, 1, 8, 3);
  without_step.erase("SLURM_ARRAY_TASK_STEP");
  expect_place(without_step, 2, 8, "SLURM_ARRAY_TASK_ID");
}

TEST(JobPlace, ArraysHaveSteps) {
  expect_place(array_of(1, 7, 2, 4, 5), 2, 4, "SLURM_ARRAY_TASK_ID");
  expect_place(array_of(10, 40, 10, 4, 40), 3, 4, "SLURM_ARRAY_TASK_ID");
}

TEST(JobPlace, EachTaskOfAListHasADifferentNumber) {
  // --array=1,3,7: three of seven, and nothing says which.
  EXPECT_ERROR(place(array_of(1, 7, 1, 3, 3)), invalid_argument);
  EXPECT_ERROR_CODE(place(array_of(1, 7, 4, 2, 7)), invalid_argument);
  EXPECT_ERROR_CODE(place(array_of(1, 7, 2, 4, 4)), invalid_argument);
}

TEST(JobPlace, ArraysThatCannotBe) {
  EXPECT_ERROR(place(array_of(1, 8, 1, 8, 9)), invalid_argument);
  EXPECT_ERROR_CODE(place(array_of(1, 8, 0, 8, 3)), invalid_argument);
  JobVariables without_count = array_of(1, 8, 1, 8, 3);
  without_count.erase("SLURM_ARRAY_TASK_COUNT");
  EXPECT_ERROR(place(without_count), invalid_argument);
  EXPECT_ERROR(place(with(array_of(1, 8, 1, 8, 3), {{"SLURM_ARRAY_TASK_MAX", "8x"}})),
               invalid_argument);
}

const JobVariables kTaskOfSrun = {
    {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "7"}};

TEST(JobPlace, TasksOfSrun) {
  expect_place(kTaskOfSrun, 2, 4, "SLURM_PROCID");
  // The job may be larger than the step.
  expect_place(with(kTaskOfSrun, {{"SLURM_NTASKS", "9"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 2, 4,
               "SLURM_PROCID");
  EXPECT_ERROR(place(with(kTaskOfSrun, {{"SLURM_PROCID", "4"}})), invalid_argument);
  // A batch script, and the terminal of salloc.
  EXPECT_ERROR(place(with(kTaskOfSrun, {{"SLURM_STEP_ID", "4294967291"}})), invalid_argument);
  EXPECT_ERROR_CODE(place(with(kTaskOfSrun, {{"SLURM_STEP_ID", ""}})), invalid_argument);
}

TEST(JobPlace, TasksOfSrunInAnArrayMultiply) {
  expect_place(with(array_of(1, 3, 1, 3, 1), kTaskOfSrun), 2, 12,
               "SLURM_ARRAY_TASK_ID and SLURM_PROCID");
  expect_place(with(array_of(1, 3, 1, 3, 3), kTaskOfSrun), 10, 12,
               "SLURM_ARRAY_TASK_ID and SLURM_PROCID");
}

TEST(JobPlace, LaunchersOfMpi) {
  expect_place({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "3"}}, 1, 3,
               "OMPI_COMM_WORLD_RANK");
  expect_place({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}, 1, 3, "PMI_RANK");
  expect_place({{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}}, 0, 2, "FLUX_TASK_RANK");
  expect_place(with(array_of(0, 1, 1, 2, 1), {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}), 4, 6,
               "SLURM_ARRAY_TASK_ID and PMI_RANK");
  EXPECT_ERROR(place({{"OMPI_COMM_WORLD_RANK", "1"}}), invalid_argument);
  EXPECT_ERROR(place({{"PMIX_RANK", "1"}}), invalid_argument);
}

TEST(JobPlace, TorchsVariables) {
  expect_place({{"RANK", "1"}, {"WORLD_SIZE", "3"}}, 1, 3, "RANK");
  EXPECT_ERROR(place({{"RANK", "1"}}), invalid_argument);
  EXPECT_ERROR_CODE(place({{"WORLD_SIZE", "1"}}), invalid_argument);
  // An srun started torchrun, once on each machine.
  expect_place(
      with(kTaskOfSrun, {{"RANK", "17"}, {"WORLD_SIZE", "32"}, {"TORCHELASTIC_RUN_ID", "none"}}),
      17, 32, "RANK");
}

TEST(JobPlace, WhatStartedALauncherDoesNotCount) {
  expect_place(with(kTaskOfSrun, {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "6"}}), 5,
               6, "OMPI_COMM_WORLD_RANK");
  expect_place(with(kTaskOfSrun, {{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "1"}}),
               5, 6, "PMI_RANK");
  EXPECT_ERROR_CODE(place(with(kTaskOfSrun, {{"PRTE_LAUNCHED", "1"}})), invalid_argument);
}

TEST(JobPlace, LaunchersThatAgreeAndThatDoNot) {
  expect_place(with(kTaskOfSrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}), 2, 4, "SLURM_PROCID");
  expect_place(with(kTaskOfSrun, {{"RANK", "2"}, {"WORLD_SIZE", "4"}}), 2, 4, "SLURM_PROCID");
  EXPECT_ERROR(place(with(kTaskOfSrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "8"}})), invalid_argument);
  EXPECT_ERROR(place(with(kTaskOfSrun, {{"RANK", "0"}, {"WORLD_SIZE", "4"}})), invalid_argument);
  EXPECT_ERROR_CODE(place({{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "3"},
                           {"RANK", "0"},
                           {"WORLD_SIZE", "3"}}),
                    invalid_argument);
}

TEST(JobPlace, NothingIsAnErrorThatSaysWhatWasLookedFor) {
  EXPECT_ERROR(place({}), invalid_argument);
}

TEST(LoaderPlace, IsThatOfTheInnermostLauncher) {
  const auto found_by = [](const JobVariables& variables) {
    const std::optional<JobPlace> found = find_loader_place(testing::environment_of(variables));
    return found ? std::to_string(found->index) + " by " + found->found_by : "alone";
  };
  EXPECT_EQ(found_by({}), "alone");
  EXPECT_EQ(found_by({{"WORLD_SIZE", "1"}}), "alone");
  EXPECT_EQ(found_by(array_of(1, 8, 1, 8, 3)), "alone");
  EXPECT_EQ(found_by(kTaskOfSrun), "2 by SLURM_PROCID and SLURM_NTASKS");
  EXPECT_EQ(found_by({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}),
            "1 by SLURM_PROCID and SLURM_NTASKS");
  EXPECT_EQ(
      found_by(with(kTaskOfSrun, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}})),
      "1 by PMI_RANK and PMI_SIZE");
  EXPECT_EQ(found_by({{"RANK", " 1 "}, {"WORLD_SIZE", "2"}}), "1 by RANK and WORLD_SIZE");
  EXPECT_ERROR(found_by(with(kTaskOfSrun, {{"RANK", "1"}, {"WORLD_SIZE", "2"}})), invalid_argument);
  EXPECT_ERROR(found_by({{"WORLD_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(found_by({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(found_by({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), invalid_argument);
  EXPECT_ERROR(found_by({{"PMIX_RANK", "0"}, {"PRTE_LAUNCHED", "1"}}), invalid_argument);
}

TEST(LoaderPlace, SharesItsMachineWithOthers) {
  const auto on_node = [](const JobVariables& variables) {
    return loaders_on_node(testing::environment_of(variables));
  };
  EXPECT_EQ(on_node({}), 1);
  EXPECT_EQ(on_node({{"PMI_LOCAL_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "4"}}), 4);
  EXPECT_EQ(on_node({{"PMI_LOCAL_SIZE", "3"}, {"LOCAL_WORLD_SIZE", "0"}}), 3);
  EXPECT_EQ(on_node({{"FLUX_JOB_SIZE", "5"}, {"FLUX_JOB_NNODES", "2"}}), 3);
  EXPECT_EQ(on_node(with(kTaskOfSrun, {{"SLURM_STEP_TASKS_PER_NODE", "4(x2),1"}})), 4);
  EXPECT_EQ(on_node({{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "4"}}), 1);
}

TEST(JobPlace, StepsOfSrunHaveNumbers) {
  EXPECT_TRUE(is_step_of_srun("0"));
  EXPECT_TRUE(is_step_of_srun("4294967289"));
  EXPECT_FALSE(is_step_of_srun("4294967290"));
  EXPECT_FALSE(is_step_of_srun("batch"));
  EXPECT_FALSE(is_step_of_srun(std::nullopt));
}

}  // namespace
}  // namespace ffkit
