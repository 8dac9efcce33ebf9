#include <ffkit/format/schema.h>
#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/task.h>

#include "support/fake_task.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// Fits every schema that has the field.
TaskEntry task_on(const std::string& name, const std::string& field) {
  TaskEntry entry;
  entry.name = name;
  entry.metrics = {{.name = "loss"}};
  entry.best = "loss";
  entry.misfit = [field](const Schema& schema) {
    return schema.index_of(field) < 0 ? "the data set has no field '" + field + "'" : "";
  };
  return entry;
}

TEST(TaskRegistry, FindsTheTaskThatASchemaFits) {
  TaskRegistry tasks;
  tasks.add(task_on("classes", "label"));
  tasks.add(task_on("points", "lidar"));
  EXPECT_EQ(tasks.find_for(image_classification_schema(), "data/train").name, "classes");
  EXPECT_ERROR(tasks.find_for({}, "data/train"), invalid_argument);
  tasks.add(task_on("numbers", "label"));
  EXPECT_ERROR(tasks.find_for(image_classification_schema(), "data/train"), invalid_argument);
  EXPECT_ERROR(tasks.find("nothing"), invalid_argument);
}

TEST(TaskRegistry, RefusesTheSameNameAndABestThatIsNoMetric) {
  TaskRegistry tasks;
  tasks.add(task_on("a", "label"));
  EXPECT_ERROR(tasks.add(task_on("a", "label")), invalid_argument);
  TaskEntry entry = task_on("b", "label");
  entry.best = "top1";
  EXPECT_ERROR(tasks.add(entry), invalid_argument);
}

TEST(TaskEntry, KnowsWhichValueIsBetter) {
  TaskEntry entry = task_on("a", "label");
  EXPECT_TRUE(entry.is_better(2, 1));
  entry.is_lower_better = true;
  EXPECT_FALSE(entry.is_better(2, 1));
  EXPECT_TRUE(entry.is_better(1, 2));
}

TEST(EvalResult, IsPrintedAsTheTaskSays) {
  const std::vector<MetricInfo> metrics = {
      {.name = "loss"}, {.name = "top1", .title = "top-1", .scale = 100, .digits = 2, .unit = "%"}};
  const EvalResult result{.count = 3, .metrics = {{"loss", 1.5}, {"top1", 0.25}}};
  EXPECT_EQ(metrics_text(metrics, result), "loss 1.5000  top-1 25.00 %");
  // A split may lack what a metric needs.
  const EvalResult part{.count = 3, .metrics = {{"top1", 0.25}}};
  EXPECT_EQ(metrics_text(metrics, part), "top-1 25.00 %");
  EXPECT_ERROR(result.value("top5"), not_found);
}

TEST(TrainOptions, HoldTheOptionsOfOneTask) {
  TrainOptions options;
  classification(options).image_size = 33;
  TrainOptions copy = options;
  classification(copy).image_size = 44;
  EXPECT_EQ(classification(options).image_size, 33);
  struct Other : OwnOptions<Other> {
    void describe(OptionTable&, const TrainOptions&) override {}
  };
  EXPECT_ERROR(options.task_options<Other>(), invalid_argument);
}

// What every task has that says nothing of its own.
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
  const std::string of_joints = "its joints are not the joints of /data/set";
  EXPECT_EQ(task.misfit(options, {{"joints", "16"}, {"unit", "mm"}}), of_joints);
  EXPECT_EQ(task.misfit(options, {{"unit", "mm"}}), of_joints);
  EXPECT_EQ(task.misfit(options, {{"joints", "17"}}), "its unit are not the unit of /data/set");
}

}  // namespace

}  // namespace ffkit
