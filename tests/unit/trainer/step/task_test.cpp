// What every task has that says nothing of its own.
#include <gtest/gtest.h>

#include <utility>

#include <ffkit/trainer/task.h>

#include "support/fake_task.h"

namespace ffkit {
namespace {

class JointsTask final : public testing::FakeTask {
 public:
  using FakeTask::FakeTask;
  TaskFacts facts() const override { return {{"joints", "17"}, {"unit", "mm"}}; }
};

TEST(Task, DoesNotContinueARunWithOtherFacts) {
  TrainOptions options;
  options.data = "/data/set";
  const JointsTask task({.options = options});
  EXPECT_EQ(task.misfit(options, {{"joints", "17"}, {"unit", "mm"}, {"more", "1"}}), "");
  const std::string of_joints = "its joints are not those of the data set /data/set";
  EXPECT_EQ(task.misfit(options, {{"joints", "16"}, {"unit", "mm"}}), of_joints);
  EXPECT_EQ(task.misfit(options, {{"unit", "mm"}}), of_joints);
  EXPECT_EQ(task.misfit(options, {{"joints", "17"}}),
            "its unit are not those of the data set /data/set");
}

}  // namespace
}  // namespace ffkit
