#include "checkpoint/checkpoint.h"
#include "checkpoint/work_dir.h"
#include "test_prelude.h"
#include "training.h"

namespace ffkit {
namespace {

using testing::Change;
using testing::expect_same_tensors;
using testing::kQuiet;

class TrainedWeights : public testing::TrainerTest {};

TEST_F(TrainedWeights, ValidatesTheAverageOfTheWeights) {
  TrainOptions o = options("average");
  o.ema_decay = 0.5;
  o.warmup_epochs = 0;
  const TrainSummary averaged = train(o, kQuiet);
  o.ema_decay = 0;
  o.work_dir = temp_ / "plain";
  const TrainSummary plain = train(o, kQuiet);
  EXPECT_NE(averaged.last.value("loss"), plain.last.value("loss"));
  // The training itself is the same.
  const SafeTensors a = read_safetensors(temp_ / "average/epoch-0002.safetensors");
  const SafeTensors b = read_safetensors(temp_ / "plain/epoch-0002.safetensors");
  EXPECT_TRUE(a.tensors[0].tensor.equal(b.tensors[0].tensor));
  const auto num_of_model = std::ranges::count_if(
      b.tensors, [](const NamedTensor& t) { return t.name.starts_with(kModelPrefix); });
  EXPECT_GT(num_of_model, 0);
  EXPECT_EQ(a.tensors.size(), b.tensors.size() + size_t(num_of_model));  // all of them once more
  // Evaluation takes the average too.
  const EvalResult result =
      evaluate(read_checkpoint_options(temp_ / "average"), temp_ / "average", kQuiet);
  EXPECT_EQ(result.value("loss"), averaged.last.value("loss"));
}

// Every recipe that keeps state of its own across epochs.
TEST_F(TrainedWeights, EndsWithTheSameBitsWhenResumedWhateverTheRecipe) {
  const std::vector<Change> recipes = {
      {"adamw", [](auto& o) { o.optimizer = OptimizerKind::adamw; }},
      {"lars and average",
       [](auto& o) {
         o.optimizer = OptimizerKind::lars;
         o.ema_decay = 0.9;
         o.ema_steps = 4;
         o.warmup_epochs = 0.5;
       }},
      {"mixing and progressive resizing",
       [](auto& o) {
         classification(o).mixup_alpha = 0.2;
         classification(o).cutmix_alpha = 1;
         classification(o).auto_augment = AutoAugmentMethod::trivialaugment;
         classification(o).random_erasing = 0.5;
         classification(o).image_size = 64;
         classification(o).progressive_size = 32;
         classification(o).progressive_from = 0;
         classification(o).progressive_to = 1;
       }},
  };
  for (const auto& [name, change] : recipes) {
    TrainOptions o = options("straight " + name);
    o.limit_batches = 3;
    change(o);
    train(o, kQuiet);
    const fs::path first = o.work_dir / "epoch-0001.safetensors";
    TrainOptions resumed = read_checkpoint_options(first);
    resumed.work_dir = temp_ / ("resumed " + name);
    resume_training(resumed, first, kQuiet);
    SCOPED_TRACE(name);
    expect_same_tensors(o.work_dir / "epoch-0002.safetensors",
                        resumed.work_dir / "epoch-0002.safetensors");
  }
}

TEST_F(TrainedWeights, StartsFromPretrainedWeights) {
  TrainOptions o = options("first");
  o.epochs = 1;
  train(o, kQuiet);
  export_weights(temp_ / "first", temp_ / "weights.pth");
  EXPECT_TRUE(is_weights_file(temp_ / "weights.pth"));
  EXPECT_FALSE(is_weights_file(temp_ / "first"));
  EXPECT_FALSE(is_weights_file(temp_ / "first/epoch-0001.safetensors"));
  // So low a rate that one epoch more leaves the weights where they were.
  o.lr = 1e-12;
  const auto moved = [&](const char* run) {
    const SafeTensors x = read_safetensors(temp_ / "first/epoch-0001.safetensors");
    const SafeTensors y = read_safetensors(temp_ / run / "epoch-0001.safetensors");
    return x.tensors[0].tensor.sub(y.tensors[0].tensor).abs().max().item<double>();
  };
  o.work_dir = temp_ / "second";
  o.pretrained = temp_ / "weights.pth";
  train(o, kQuiet);
  EXPECT_LT(moved("second"), 1e-9);
  o.work_dir = temp_ / "drawn";
  o.pretrained = "";
  o.seed = 7;
  train(o, kQuiet);
  EXPECT_GT(moved("drawn"), 1e-3);
  // The weights are in the checkpoint: going on does not need their file.
  fs::remove(temp_ / "weights.pth");
  TrainOptions more = read_checkpoint_options(temp_ / "second");
  more.epochs = 2;
  resume_training(more, temp_ / "second", kQuiet);
  o.work_dir = temp_ / "third";
  o.pretrained = temp_ / "weights.pth";
  EXPECT_ERROR(train(o, kQuiet), not_found);
  EXPECT_FALSE(fs::exists(temp_ / "third"));
}

TEST_F(TrainedWeights, EvaluatesExportedWeightsAsTheirCheckpoint) {
  train(options("run"), kQuiet);
  const EvalResult expected = evaluate(options(), temp_ / "run", kQuiet);
  for (const char* name : {"weights.pth", "weights.safetensors"}) {
    export_weights(temp_ / "run", temp_ / name);
    const EvalResult result = evaluate(options(), temp_ / name, kQuiet);
    EXPECT_EQ(result.count, expected.count);
    EXPECT_EQ(result.value("loss"), expected.value("loss"));
    EXPECT_EQ(result.value("top1"), expected.value("top1"));
  }
  TrainOptions o = options();
  testing::write_synthetic_dataset(temp_ / "two", {.classes = {"blue", "green"}});
  o.data = temp_ / "two";
  EXPECT_ERROR(evaluate(o, temp_ / "weights.pth", kQuiet), invalid_argument);
  o = options();
  classification(o).arch = testing::kTestResNetDeeper;
  EXPECT_ERROR(evaluate(o, temp_ / "weights.pth", kQuiet), invalid_argument);
}

}  // namespace
}  // namespace ffkit
