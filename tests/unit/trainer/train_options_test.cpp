#include <ffkit/trainer/classification.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

#include "options/stored_options.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

std::string json_of(const TrainOptions& options) {
  return options_to_json(options, TaskRegistry::instance());
}
TrainOptions read_back(const std::string& json, const std::string& path) {
  return options_from_json(json, path, TaskRegistry::instance());
}

TEST(TrainOptions, AcceptsItsDefaults) {
  validate(TrainOptions{});
}

TEST(TrainOptions, NamesTheOptionThatIsOutOfRange) {
  const auto broken = [](const std::function<void(TrainOptions&)>& change) {
    TrainOptions o;
    change(o);
    return o;
  };
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).image_size = 0; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).image_size = -3; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).crop_scale_min = 0; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).crop_scale_max = 1.5; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).hflip = 1.5; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).eval_resize = -1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.epochs = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.batch_size = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr = std::numeric_limits<double>::quiet_NaN(); })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.warmup_epochs = 91; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) {
                 o.lr_schedule = LrSchedule::onecycle;
                 o.warmup_epochs = 0.5;
               })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.warmup_start = 1.5; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_min = 0.2; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_power = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).progressive_size = 225; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) {
                 classification(o).progressive_size = 160;
                 classification(o).progressive_from = 5;
                 classification(o).progressive_to = 5;
               })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).eval_size = -1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).randaugment_ops = -1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).randaugment_magnitude = 31; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).jitter_hue = 0.6; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).random_erasing = 2; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).mixup_alpha = -1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).cutmix_alpha = -1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.clip_grad_norm = -1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.ema_decay = 1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.ema_steps = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.log_every = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_step_epochs = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lr_gamma = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.momentum = 1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) {
                 o.momentum = 0;
                 o.nesterov = true;
               })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) {
                 o.optimizer = OptimizerKind::lars;
                 o.nesterov = true;
               })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.adam_beta2 = 1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.adam_eps = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.lars_trust = 0; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.weight_decay = -1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { classification(o).label_smoothing = 1; })),
               invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.num_threads = -1; })), invalid_argument);
  EXPECT_ERROR(validate(broken([](auto& o) { o.limit_batches = -1; })), invalid_argument);
}

TEST(TrainOptions, ResolvesTheUsualEvalResize) {
  TrainOptions o;
  EXPECT_EQ(classification(o).resolved_eval_resize(), 256);
  classification(o).image_size = 32;
  EXPECT_EQ(classification(o).resolved_eval_resize(), 37);
  classification(o).eval_resize = 32;
  EXPECT_EQ(classification(o).resolved_eval_resize(), 32);
  EXPECT_EQ(classification(o).resolved_eval_size(), 32);
  classification(o).eval_size = 224;
  classification(o).eval_resize = 0;
  EXPECT_EQ(classification(o).resolved_eval_size(), 224);
  EXPECT_EQ(classification(o).resolved_eval_resize(), 256);
}

TEST(TrainOptions, ListsTheNamesThereAre) {
  EXPECT_EQ(from_name<LrSchedule>("step"), LrSchedule::step);
  TrainOptions o;
  classification(o).arch = "vgg";
  EXPECT_ERROR(validate(o), invalid_argument);
  EXPECT_EQ(from_name<OptimizerKind>("adamw"), OptimizerKind::adamw);
  EXPECT_ERROR(from_name<OptimizerKind>("lamb"), invalid_argument);
  EXPECT_ERROR(from_name<LrSchedule>("linear"), invalid_argument);
  for (const char* name : {"cosine", "step", "polynomial", "onecycle", "constant"}) {
    EXPECT_EQ(to_string(from_name<LrSchedule>(name)), name);
  }
  for (const char* name : {"none", "randaugment", "trivialaugment"}) {
    EXPECT_EQ(to_string(from_name<AutoAugmentMethod>(name)), name);
  }
  EXPECT_ERROR(from_name<AutoAugmentMethod>("augmix"), invalid_argument);
  for (const char* name : {"off", "bf16", "fp16"}) EXPECT_EQ(to_string(from_name<Amp>(name)), name);
  EXPECT_EQ(from_name<Amp>("O0"), Amp::off);
  EXPECT_EQ(from_name<Amp>("O2"), Amp::fp16);
  EXPECT_ERROR(from_name<Amp>("O3"), invalid_argument);
  for (const char* name : {"none", "linear", "sqrt"})
    EXPECT_EQ(to_string(from_name<LrScaling>(name)), name);
  EXPECT_ERROR(from_name<LrScaling>("cubic"), invalid_argument);
}

TEST(TrainOptions, InterpolationIsAnyOfTheLibrary) {
  for (const auto& [interpolation, name] : kNames<Interpolation>.names) {
    TrainOptions o;
    o.data = "/data/set";
    classification(o).interpolation = interpolation;
    OptionTable table;
    classification(o).describe(table, o);
    EXPECT_EQ(table.find("interpolation")->text(), name);
    if (is_built(interpolation)) {
      EXPECT_NO_THROW(validate(o)) << name;
    } else {
      EXPECT_ERROR_CODE(validate(o), invalid_argument);
    }
  }
}

TEST(OptionsJson, KeepsEveryOption) {
  TrainOptions o;
  o.data = "/data/set";
  classification(o).arch = "resnet18";
  o.global_batch_size = 44;
  o.accumulate = 2;
  o.lr_scaling = LrScaling::linear;
  o.lr_base_batch = 128;
  o.sync_bn = o.broadcast_buffers = o.dummy = o.deterministic = true;
  o.amp = Amp::fp16;
  o.loss_scale = 128;
  o.prefetch_batches = 4;
  o.device = "cpu";
  o.checkpoint_minutes = 2.5;
  o.pretrained = "/weights.pth";
  classification(o).image_size = 33;
  classification(o).progressive_size = 16;
  classification(o).progressive_from = 1;
  classification(o).progressive_to = 5;
  classification(o).crop_scale_min = 0.35;
  classification(o).crop_scale_max = 0.9;
  classification(o).hflip = 0.3;
  classification(o).eval_size = 36;
  classification(o).eval_resize = 40;
  classification(o).interpolation = Interpolation::bicubic;
  classification(o).auto_augment = AutoAugmentMethod::randaugment;
  classification(o).randaugment_ops = 3;
  classification(o).randaugment_magnitude = 7;
  classification(o).jitter_brightness = 0.4;
  classification(o).jitter_contrast = 0.3;
  classification(o).jitter_saturation = 0.2;
  classification(o).jitter_hue = 0.1;
  classification(o).random_erasing = 0.25;
  classification(o).mixup_alpha = 0.2;
  classification(o).cutmix_alpha = 1;
  o.epochs = 7;
  o.batch_size = 11;
  o.lr = 0.1 + 0.2;
  o.lr_schedule = LrSchedule::step;
  o.lr_min = 0.001;
  o.warmup_epochs = 2.5;
  o.warmup_start = 0.1;
  o.lr_step_epochs = 4;
  o.lr_gamma = 0.5;
  o.lr_power = 2;
  o.optimizer = OptimizerKind::lars;
  o.momentum = 0.8;
  o.nesterov = true;
  o.adam_beta1 = 0.85;
  o.adam_beta2 = 0.95;
  o.adam_eps = 1e-6;
  o.lars_trust = 0.002;
  o.weight_decay = 5e-4;
  o.norm_decay = false;
  o.clip_grad_norm = 1.5;
  classification(o).label_smoothing = 0.1;
  o.ema_decay = 0.99;
  o.ema_steps = 4;
  classification(o).zero_init_residual = true;
  o.seed = ~uint64_t{0};
  classification(o).channels_last = false;
  o.num_threads = 3;
  o.max_record_bytes = 4096;
  o.compute_threads = 2;
  o.limit_batches = 5;
  o.keep_checkpoints = 9;
  o.log_every = 10;
  const std::string text = json_of(o);
  const TrainOptions back = read_back(text, "file");
  EXPECT_EQ(json_of(back), text);
  EXPECT_EQ(back.data, o.data);
  EXPECT_EQ(classification(back).arch, classification(o).arch);
  EXPECT_EQ(back.lr, o.lr);
  EXPECT_EQ(back.lr_schedule, o.lr_schedule);
  EXPECT_EQ(back.seed, o.seed);
  EXPECT_EQ(classification(back).channels_last, classification(o).channels_last);
  // Every member differs from its default, so one that is left out of the JSON shows here.
  EXPECT_EQ(
      text,
      R"({"data":"/data/set","arch":"resnet18","pretrained":"/weights.pth","image_size":33,"progressive_size":16,)"
      R"("progressive_from":1,"progressive_to":5,"crop_scale_min":0.35,)"
      R"("crop_scale_max":0.9,"hflip":0.3,"eval_size":36,"eval_resize":40,"interpolation":"bicubic",)"
      R"("auto_augment":"randaugment","randaugment_ops":3,"randaugment_magnitude":7,)"
      R"("jitter_brightness":0.4,"jitter_contrast":0.3,"jitter_saturation":0.2,)"
      R"("jitter_hue":0.1,"random_erasing":0.25,"mixup_alpha":0.2,"cutmix_alpha":1.0,)"
      R"("epochs":7,"batch_size":11,"global_batch_size":44,"accumulate":2,"lr_scaling":"linear",)"
      R"("lr_base_batch":128,"lr":0.30000000000000004,"lr_schedule":"step",)"
      R"("lr_min":0.001,"warmup_epochs":2.5,"warmup_start":0.1,"lr_step_epochs":4,)"
      R"("lr_gamma":0.5,"lr_power":2.0,"optimizer":"lars","momentum":0.8,"nesterov":true,)"
      R"("adam_beta1":0.85,"adam_beta2":0.95,"adam_eps":1e-06,"lars_trust":0.002,)"
      R"("weight_decay":0.0005,"norm_decay":false,)"
      R"("clip_grad_norm":1.5,"label_smoothing":0.1,"ema_decay":0.99,"ema_steps":4,)"
      R"("zero_init_residual":true,"seed":18446744073709551615,"sync_bn":true,"broadcast_buffers":true,)"
      R"("amp":"fp16","loss_scale":128.0,"channels_last":false,"deterministic":true,)"
      R"("num_threads":3,"prefetch_batches":4,"max_record":4096,"compute_threads":2,"device":"cpu","limit_batches":5,"dummy":true,)"
      R"("keep_checkpoints":9,"checkpoint_minutes":2.5,"log_every":10})");
}

TEST(OptionsJson, TakesTheDefaultOfAnOptionThatIsMissing) {
  EXPECT_EQ(json_of(read_back("{}", "f")), json_of(TrainOptions()));
  EXPECT_EQ(read_back(R"({"momentum":0.5})", "f").momentum, 0.5);
}

// As a checkpoint of 0.2 has them.
TEST(OptionsJson, ReadsNamesOfEarlierVersions) {
  const TrainOptions o = read_back(R"({"threads":3,"prefetch":4})", "f");
  EXPECT_EQ(o.num_threads, 3);
  EXPECT_EQ(o.prefetch_batches, 4);
}

TEST(OptionsJson, KeepsWhatBecomesOfBadSamples) {
  TrainOptions o;
  o.bad_samples = BadSamples::skip;
  validate(o);
  EXPECT_EQ(read_back(json_of(o), "f").bad_samples, BadSamples::skip);
  EXPECT_EQ(json_of(TrainOptions()).find("bad_samples"), std::string::npos);
  EXPECT_ERROR(from_name<BadSamples>("drop"), invalid_argument);
  o.task = "gpt2";
  EXPECT_ERROR(validate(o), invalid_argument);
}

TEST(OptionsJson, KeepsTheOrderOfTheSamples) {
  TrainOptions o;
  o.order = Order::windowed;
  o.num_streams = 8;
  validate(o);
  const TrainOptions back = read_back(json_of(o), "f");
  EXPECT_EQ(back.order, Order::windowed);
  EXPECT_EQ(back.num_streams, 8);
  EXPECT_EQ(json_of(TrainOptions()).find("order"), std::string::npos);
  EXPECT_EQ(json_of(TrainOptions()).find("num_streams"), std::string::npos);
  EXPECT_ERROR(from_name<Order>("sorted"), invalid_argument);
  o.order = Order::shuffle;
  EXPECT_ERROR(validate(o), invalid_argument);
  o.num_streams = 0;
  o.task = "gpt2";
  EXPECT_ERROR(validate(o), invalid_argument);
}

// These are stored only where they are not the default.
TEST(OptionsJson, KeepsWhatIsStoredWhereItIsGiven) {
  TrainOptions o;
  o.steps = 700;
  o.warmup_steps = 30;
  o.lr_step_steps = 20;
  o.eval_every = 5;
  o.shard_optimizer = true;
  const TrainOptions again = read_back(json_of(o), "f");
  EXPECT_EQ(again.steps, 700);
  EXPECT_EQ(again.warmup_steps, 30);
  EXPECT_EQ(again.lr_step_steps, 20);
  EXPECT_EQ(again.eval_every, 5);
  EXPECT_TRUE(again.shard_optimizer);
}

TEST(OptionsJson, NamesTheOptionThatIsWrong) {
  EXPECT_ERROR(read_back(R"({"momentum":"much"})", "run/file"), corrupt);
  for (const char* text : {"nonsense", "[1]", ""}) {
    EXPECT_ERROR(read_back(text, "run/file"), corrupt);
  }
}

// The newest one is kept whatever the words say.
TEST(TrainOptions, SayInWordsWhichCheckpointsAreKept) {
  const auto kept = [](const std::string& words) {
    TrainOptions o;
    option_tables(o).general.find("keep")->parts[0].set(words);
    return std::pair(o.keep_checkpoints, o.keep_best);
  };
  EXPECT_EQ(kept("best,last,3"), std::pair(int64_t{3}, true));
  EXPECT_EQ(kept("best,last"), std::pair(int64_t{1}, true));
  EXPECT_EQ(kept("best"), std::pair(int64_t{1}, true));
  EXPECT_EQ(kept("last"), std::pair(int64_t{1}, false));
  EXPECT_EQ(kept("5"), std::pair(int64_t{5}, false));
  EXPECT_EQ(kept("all,best"), std::pair(int64_t{0}, true));
  EXPECT_ERROR(kept("best;last"), invalid_argument);
  EXPECT_ERROR(kept("0"), invalid_argument);
  TrainOptions o;
  EXPECT_EQ(option_tables(o).general.find("keep")->text(), "best,3");
}

}  // namespace
}  // namespace ffkit
