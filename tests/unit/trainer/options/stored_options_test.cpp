#include "options/stored_options.h"

#include <gtest/gtest.h>

#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/task_registry.h>

namespace ffkit {
namespace {

TrainOptions of_run() {
  TrainOptions o;
  o.task = "classification";
  o.data = "/data/run";
  o.lr = 0.5;
  o.momentum = 0.8;
  classification(o).arch = "resnet18";
  return o;
}

TEST(GivenOptions, AreTakenAndAllElseIsTheRuns) {
  TrainOptions now;
  now.task = "classification";
  now.work_dir = "here";
  now.lr = 0.1;
  now.threads = 7;
  now.momentum = 0.7;
  classification(now).image_size = 96;
  const TrainOptions out =
      with_given(of_run(), now, {"lr", "image-size"}, TaskRegistry::instance());
  EXPECT_EQ(out.lr, 0.1);
  EXPECT_EQ(out.momentum, 0.8);
  EXPECT_EQ(classification(out).image_size, 96);
  EXPECT_EQ(classification(out).arch, "resnet18");
  EXPECT_EQ(out.work_dir, "here");
  EXPECT_EQ(out.threads, 7) << "of one machine";
  EXPECT_EQ(out.data, DataFolders("/data/run")) << "where none are named";
  EXPECT_EQ(differences(of_run(), out, TaskRegistry::instance()),
            (std::vector<std::string>{"lr 0.1 instead of 0.5", "threads 7 instead of 0",
                                      "image-size 96 instead of 224"}));
  EXPECT_TRUE(differences(of_run(), of_run(), TaskRegistry::instance()).empty());
}

// A process that does not see the run's folder knows neither task nor data.
TEST(GivenOptions, OfNoTaskAreThoseOfTheRun) {
  TrainOptions run;
  run.task = "gpt2";
  gpt2(run).layers = 2;
  const TrainOptions out = with_given(run, {}, {}, TaskRegistry::instance());
  EXPECT_EQ(out.task_name(), "gpt2");
  EXPECT_EQ(gpt2(out).layers, 2);
  EXPECT_EQ(with_given(run, of_run(), {"task"}, TaskRegistry::instance()).task_name(),
            "classification");
}

}  // namespace
}  // namespace ffkit
