#include "run_options.h"

#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/gpt2.h>
#include <ffkit/trainer/task_registry.h>

#include "options/stored_options.h"
#include "support/world.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

// Of a run of four processes with two batches of 8 each.
CheckpointInfo stored() {
  CheckpointInfo info;
  info.options.batch_size = 8;
  info.options.accumulate = 2;
  info.global_batch_size = 64;
  return info;
}

TrainOptions resumed(const TrainOptions& options, int world_size, bool accept = false) {
  return with_batch_of(stored(), "run/a.safetensors", options, world_size,
                       {.accept_batch_change = accept});
}

TEST(ResumedBatch, KeepsThePicturesAStepWithOtherProcesses) {
  const TrainOptions same = stored().options;
  EXPECT_EQ(resumed(same, 4).global_batch_size, 0) << "nothing to say";
  EXPECT_EQ(resumed(same, 2).resolved(2).batch_size, 16);
  EXPECT_EQ(resumed(same, 8).resolved(8).batch_size, 4);
  EXPECT_EQ(resumed(same, 2).resolved(2).global_batch_size, 64);
}

TEST(ResumedBatch, RefusesProcessesThatCannotShareIt) {
  EXPECT_ERROR(resumed(stored().options, 3), invalid_argument);
  EXPECT_EQ(resumed(stored().options, 3, true).resolved(3).global_batch_size, 48);
}

TEST(ResumedBatch, RefusesAnotherBatchUnlessItIsAccepted) {
  TrainOptions o = stored().options;
  o.batch_size = 16;
  EXPECT_ERROR(resumed(o, 4), invalid_argument);
  EXPECT_EQ(resumed(o, 4, true).resolved(4).global_batch_size, 128);
  EXPECT_EQ(resumed(o, 2).resolved(2).batch_size, 16) << "as many in all";
  o.global_batch_size = 32;
  EXPECT_ERROR(resumed(o, 4), invalid_argument);
  o.global_batch_size = 64;
  EXPECT_EQ(resumed(o, 16).resolved(16).batch_size, 2);
}

TEST(OptionsFile, HasALineForEachOptionUnderItsNameOnTheCommandLine) {
  TrainOptions o;
  o.data = "/data/a set";
  classification(o).crop_scale_min = 0.35;
  o.work_dir = "/runs/a";
  const std::string text = options_to_toml(o);
  EXPECT_NE(text.find("\ndata = \"/data/a set\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncrop-scale = [0.35,1.0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nhflip = 0.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nadam-betas = [0.9,0.999]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncolor-jitter = [0.0,0.0,0.0,0.0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nlr-schedule = \"cosine\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nchannels-last = true\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('_'), std::string::npos) << text;
  EXPECT_EQ(text.find("\"\""), std::string::npos) << text;  // no empty texts
  EXPECT_EQ(text.find("work"), std::string::npos) << text;
}

TEST(OptionsFile, QuotesPathsSoThatTheyCanBeReadBack) {
  TrainOptions o;
  o.data = "/data/\"q\"";
  EXPECT_NE(options_to_toml(o).find("\ndata = '/data/\"q\"'\n"), std::string::npos);
  for (const char* path : {"/data/#1", "/data/\"it's\""}) {
    o.data = path;
    EXPECT_NE(options_to_toml(o).find("\n# data: give it by --data\n"), std::string::npos) << path;
  }
}

// How many ranks of three a check ends with an error.
template <typename Check>
int ranks_that_fail(const Check& check) {
  std::atomic<int> num_failed{0};
  testing::run_world(3, [&](Communicator& world) {
    try {
      check(world);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      ++num_failed;
    }
  });
  return num_failed;
}

TEST(SameRun, AllProcessesHaveTheOptionsOfTheFirst) {
  const auto with_seeds = [](uint64_t of_last, const std::vector<std::string>* given) {
    return ranks_that_fail([=](Communicator& world) {
      TrainOptions options;
      options.data = "/data/of-rank-" + std::to_string(world.rank());  // may differ
      options.seed = world.rank() == 2 ? of_last : 7;
      check_same_options(world, options, given);
    });
  };
  EXPECT_EQ(with_seeds(7, nullptr), 0);
  EXPECT_EQ(with_seeds(8, nullptr), 3);
  const std::vector<std::string> others = {"epochs"};
  EXPECT_EQ(with_seeds(8, &others), 0) << "an option that nobody gave";
  const std::vector<std::string> seed = {"seed"};
  EXPECT_EQ(with_seeds(8, &seed), 3);
}

TEST(SameRun, AllProcessesHaveOneDataSetAndOneOrder) {
  for (const bool is_same : {true, false}) {
    const auto text_of = [=](const Communicator& world) {
      return is_same || world.rank() != 1 ? std::string("one") : std::string("other");
    };
    EXPECT_EQ(ranks_that_fail([&](Communicator& world) {
                check_same_data(world, text_of(world), "/data/set");
              }),
              is_same ? 0 : 3);
    EXPECT_EQ(
        ranks_that_fail([&](Communicator& world) { check_same_order(world, text_of(world)); }),
        is_same ? 0 : 3);
  }
}

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
  now.num_threads = 7;
  now.momentum = 0.7;
  classification(now).image_size = 96;
  const TrainOptions out =
      with_given(of_run(), now, {"lr", "image-size"}, TaskRegistry::instance());
  EXPECT_EQ(out.lr, 0.1);
  EXPECT_EQ(out.momentum, 0.8);
  EXPECT_EQ(classification(out).image_size, 96);
  EXPECT_EQ(classification(out).arch, "resnet18");
  EXPECT_EQ(out.work_dir, "here");
  EXPECT_EQ(out.num_threads, 7) << "of one machine";
  EXPECT_EQ(out.data, DataFolders("/data/run")) << "where none are named";
  EXPECT_EQ(differences(of_run(), out, TaskRegistry::instance()),
            (std::vector<std::string>{"lr 0.1 instead of 0.5", "num-threads 7 instead of 0",
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

TEST(GivenOptions, ReplaceWhatTheRunSaidOfTheSameInAnotherWay) {
  TrainOptions run = of_run();
  run.steps = 100;
  run.warmup_steps = 10;
  run.lr_step_steps = 20;
  run.global_batch_size = 64;
  classification(run).val_share = 0.1;
  const auto with = [&](std::vector<std::string> given) {
    return with_given(run, of_run(), given, TaskRegistry::instance());
  };
  EXPECT_EQ(with({"epochs"}).steps, 0);
  EXPECT_EQ(with({"epochs"}).warmup_steps, 10);
  EXPECT_EQ(with({"warmup-epochs"}).warmup_steps, 0);
  EXPECT_EQ(with({"lr-step-epochs"}).lr_step_steps, 0);
  EXPECT_EQ(with({"batch-size"}).global_batch_size, 0);
  EXPECT_EQ(with({"accumulate"}).global_batch_size, 0);
  EXPECT_EQ(classification(with({"val-split"})).val_share, 0);
  EXPECT_EQ(classification(with({"data"})).val_share, 0.1);
  EXPECT_EQ(with({"lr"}).steps, 100);
}

TEST(GivenOptions, OfAnEvaluationLeaveOutWhatConcernedTheTraining) {
  const testing::TempDir temp;
  fs::create_directory(temp / "own");
  TrainOptions run = of_run(), now = of_run();
  run.data = now.data = temp / "own";
  run.limit_batches = 2;
  run.dummy = true;
  classification(run).val_share = 0.1;
  const auto with = [&](std::vector<std::string> given) {
    return with_given(run, now, given, TaskRegistry::instance(), TakenFor::evaluation);
  };
  EXPECT_EQ(with({}).limit_batches, 0);
  EXPECT_FALSE(with({}).dummy);
  EXPECT_EQ(classification(with({})).val_share, 0.1);
  now.data = temp / "own/";  // the same folder
  EXPECT_EQ(classification(with({"data"})).val_share, 0.1);
  now.data = "/data/other";
  EXPECT_EQ(classification(with({"data"})).val_share, 0);
  now.limit_batches = 2;
  classification(now).val_share = 0.1;
  EXPECT_EQ(with({"limit-batches"}).limit_batches, 2);
  EXPECT_EQ(classification(with({"data", "val-share"})).val_share, 0.1);
}

}  // namespace
}  // namespace ffkit
