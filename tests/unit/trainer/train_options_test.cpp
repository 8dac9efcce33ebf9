#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include <ffkit/trainer/train_options.h>

#include "expect_error.h"
#include "options_json.h"

namespace ffkit {
namespace {

TEST(TrainOptions, AcceptsItsDefaults) {
  validate(TrainOptions{});
}

TEST(TrainOptions, NamesTheOptionThatIsOutOfRange) {
  const auto broken = [](const std::function<void(TrainOptions&)>& change) {
    TrainOptions o;
    change(o);
    return o;
  };
  EXPECT_ERROR(validate(broken([](auto& o) { o.image_size = 0; })), invalid_argument,
               "image-size must be 1 to 16384, but it is 0");
  EXPECT_ERROR(validate(broken([](auto& o) { o.image_size = -3; })), invalid_argument,
               "image-size");
  EXPECT_ERROR(validate(broken([](auto& o) { o.crop_scale_min = 0; })), invalid_argument,
               "crop-scale");
  EXPECT_ERROR(validate(broken([](auto& o) { o.crop_scale_max = 1.5; })), invalid_argument,
               "crop-scale");
  EXPECT_ERROR(validate(broken([](auto& o) { o.eval_resize = -1; })), invalid_argument,
               "eval-resize");
  EXPECT_ERROR(validate(broken([](auto& o) { o.epochs = 0; })), invalid_argument, "epochs");
  EXPECT_ERROR(validate(broken([](auto& o) { o.batch_size = 0; })), invalid_argument, "batch-size");
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr = std::numeric_limits<double>::quiet_NaN(); })),
               invalid_argument, "lr");
  EXPECT_ERROR(validate(broken([](auto& o) { o.warmup_epochs = 91; })), invalid_argument,
               "warmup-epochs must be 0 to the number of epochs, 90");
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_step_epochs = 0; })), invalid_argument,
               "lr-step-epochs");
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_gamma = 0; })), invalid_argument, "lr-gamma");
  EXPECT_ERROR(validate(broken([](auto& o) { o.momentum = 1; })), invalid_argument, "momentum");
  EXPECT_ERROR(validate(broken([](auto& o) {
                 o.momentum = 0;
                 o.nesterov = true;
               })),
               invalid_argument, "nesterov");
  EXPECT_ERROR(validate(broken([](auto& o) { o.weight_decay = -1; })), invalid_argument,
               "weight-decay");
  EXPECT_ERROR(validate(broken([](auto& o) { o.label_smoothing = 1; })), invalid_argument,
               "label-smoothing");
  EXPECT_ERROR(validate(broken([](auto& o) { o.threads = -1; })), invalid_argument, "threads");
  EXPECT_ERROR(validate(broken([](auto& o) { o.limit_batches = -1; })), invalid_argument,
               "limit-batches");
}

TEST(TrainOptions, ResolvesTheUsualEvalResize) {
  TrainOptions o;
  EXPECT_EQ(o.resolved_eval_resize(), 256);
  o.image_size = 32;
  EXPECT_EQ(o.resolved_eval_resize(), 37);
  o.eval_resize = 32;
  EXPECT_EQ(o.resolved_eval_resize(), 32);
}

TEST(TrainOptions, ListsTheNamesThereAre) {
  EXPECT_EQ(parse_lr_schedule("step"), LrSchedule::step);
  TrainOptions o;
  o.arch = "vgg";
  EXPECT_ERROR(validate(o), invalid_argument, "there is no arch 'vgg'; there are ");
  for (const std::string& name : arch_names()) {
    EXPECT_ERROR(validate(o), invalid_argument, name);
  }
  EXPECT_ERROR(parse_lr_schedule("linear"), invalid_argument, "there are cosine and step");
}

TEST(OptionsJson, KeepsEveryOption) {
  TrainOptions o;
  o.data = "/data/set";
  o.arch = "resnet18";
  o.pretrained = "/weights.pth";
  o.image_size = 33;
  o.crop_scale_min = 0.35;
  o.crop_scale_max = 0.9;
  o.eval_resize = 40;
  o.epochs = 7;
  o.batch_size = 11;
  o.lr = 0.1 + 0.2;
  o.lr_schedule = LrSchedule::step;
  o.warmup_epochs = 2;
  o.lr_step_epochs = 4;
  o.lr_gamma = 0.5;
  o.momentum = 0.8;
  o.nesterov = true;
  o.weight_decay = 5e-4;
  o.label_smoothing = 0.1;
  o.seed = ~uint64_t{0};
  o.channels_last = false;
  o.threads = 3;
  o.compute_threads = 2;
  o.limit_batches = 5;
  o.keep_checkpoints = 9;
  const std::string text = options_to_json(o);
  const TrainOptions back = options_from_json(text, "file");
  EXPECT_EQ(options_to_json(back), text);
  EXPECT_EQ(back.data, o.data);
  EXPECT_EQ(back.arch, o.arch);
  EXPECT_EQ(back.lr, o.lr);
  EXPECT_EQ(back.lr_schedule, o.lr_schedule);
  EXPECT_EQ(back.seed, o.seed);
  EXPECT_EQ(back.channels_last, o.channels_last);
  // Every member differs from its default, so one that is left out of the JSON shows here.
  EXPECT_EQ(
      text,
      R"({"data":"/data/set","arch":"resnet18","pretrained":"/weights.pth","image_size":33,"crop_scale_min":0.35,)"
      R"("crop_scale_max":0.9,"eval_resize":40,"epochs":7,"batch_size":11,)"
      R"("lr":0.30000000000000004,"lr_schedule":"step","warmup_epochs":2,"lr_step_epochs":4,)"
      R"("lr_gamma":0.5,"momentum":0.8,"nesterov":true,"weight_decay":0.0005,)"
      R"("label_smoothing":0.1,"seed":18446744073709551615,"channels_last":false,)"
      R"("threads":3,"compute_threads":2,"limit_batches":5,"keep_checkpoints":9})");
}

TEST(OptionsJson, NamesTheOptionThatIsMissingOrWrong) {
  EXPECT_ERROR(options_from_json("{}", "run/file"), corrupt, "run/file: option 'data' is missing");
  EXPECT_ERROR(options_from_json("nonsense", "f"), corrupt, "option 'data'");
  std::string text = options_to_json(TrainOptions{});
  text.replace(text.find("\"momentum\":"), 11, "\"momentun\":");
  EXPECT_ERROR(options_from_json(text, "f"), corrupt, "option 'momentum'");
}

}  // namespace
}  // namespace ffkit
