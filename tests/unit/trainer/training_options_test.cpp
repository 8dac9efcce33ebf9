#include "test_prelude.h"
#include "training.h"

namespace ffkit {
namespace {

using testing::Change;
using testing::kQuiet;

class TrainerOptionsTest : public testing::TrainerTest {
 protected:
  // The first tensor after six steps in two epochs.
  at::Tensor train_with(const std::string& name, const std::function<void(TrainOptions&)>& change) {
    TrainOptions o = options(name);
    o.limit_batches = 3;
    o.epochs = 2;
    o.warmup_epochs = 0;
    change(o);
    train(o, kQuiet);
    return read_safetensors(temp_ / name / "epoch-0002.safetensors").tensors[0].tensor;
  }

  void expect_each_counts(const std::vector<Change>& changes) {
    const at::Tensor base = train_with("base", [](auto&) {});
    EXPECT_TRUE(base.equal(train_with("again", [](auto&) {})));
    for (const auto& [name, change] : changes) {
      EXPECT_FALSE(base.equal(train_with(name, change))) << name;
    }
  }
};

TEST_F(TrainerOptionsTest, HeedsEveryOptionOfTheOptimisation) {
  expect_each_counts({
      {"momentum", [](auto& o) { o.momentum = 0.5; }},
      {"nesterov", [](auto& o) { o.nesterov = true; }},
      {"weight_decay", [](auto& o) { o.weight_decay = 0.01; }},
      {"norm_decay", [](auto& o) { o.norm_decay = false; }},
      {"optimizer adamw", [](auto& o) { o.optimizer = OptimizerKind::adamw; }},
      {"optimizer lars", [](auto& o) { o.optimizer = OptimizerKind::lars; }},
      {"clip_grad_norm", [](auto& o) { o.clip_grad_norm = 0.1; }},
      {"label_smoothing", [](auto& o) { classification(o).label_smoothing = 0.1; }},
      {"zero_init_residual", [](auto& o) { classification(o).zero_init_residual = true; }},
  });
}

TEST_F(TrainerOptionsTest, HeedsEveryOptionOfTheLearningRate) {
  expect_each_counts({
      {"lr", [](auto& o) { o.lr = 0.03; }},
      {"lr_schedule", [](auto& o) { o.lr_schedule = LrSchedule::step; }},
      {"lr_min", [](auto& o) { o.lr_min = 0.01; }},
      {"warmup_epochs", [](auto& o) { o.warmup_epochs = 0.5; }},
  });
}

// What the loader makes of the others is in data_source_test.cpp.
TEST_F(TrainerOptionsTest, HeedsTheOptionsOfPictures) {
  expect_each_counts({
      {"crop_scale", [](auto& o) { classification(o).crop_scale_min = 0.9; }},
      {"hflip", [](auto& o) { classification(o).hflip = 0; }},
      {"image_size", [](auto& o) { classification(o).image_size = 40; }},
      {"batch_size", [](auto& o) { o.batch_size = 6; }},
      {"mixup_alpha", [](auto& o) { classification(o).mixup_alpha = 1; }},
      {"progressive_size",
       [](auto& o) {
         classification(o).progressive_size = 16;
         classification(o).progressive_to = 1;
       }},
  });
}

}  // namespace
}  // namespace ffkit
