#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

#include "base/make_error.h"
#include "base/number_text.h"

namespace ffkit {
namespace {

// Products of these, of the processes and of the steps of an epoch stay below 2^63.
constexpr int64_t kMostCounted = 1'000'000'000;
constexpr int64_t kMostAccumulated = 1'000'000;

void add_data_options(OptionTable& t, TrainOptions& o, const TaskRegistry& tasks) {
  t.group("Task and data");
  t.add("task", o.task,
        "Kind of training. The default is the task that fits the schema of the data")
      .set_type_name("NAME")
      .set_stored(o.task_name() != kFirstTask)
      .set_choices(tasks.names())
      .set_left_out("task");
  t.add_paths(
       "data", [&o] { return o.data.words(); },
       [&o](const std::vector<std::string>& words) { o.data = DataFolders::parse(words); },
       "Data set folder with the splits train and val. If you give several data sets, they are "
       "mixed. With DATA:WEIGHT, WEIGHT is the data set's share of an epoch, and an epoch has as "
       "many samples as all data sets together have records. Without weights, all data sets have "
       "equal shares, and smaller data sets are repeated up to the size of the largest data set")
      .set_type_name("DATA")
      .set_local();
  t.group("Model");
  t.add("pretrained", o.pretrained,
        "Starts from these weights, in a .pth file, a .safetensors file or a checkpoint. If the "
        "head has another number of rows, it gets new random weights")
      .set_type_name("FILE");
  t.add("weights-key", o.weights_key,
        "Set of tensors to use, such as model_ema, if a file of weights has several sets. The "
        "value may also be the prefix of the names of the tensors, such as teacher.backbone")
      .set_type_name("KEY")
      .set_stored(!o.weights_key.empty());
}

void add_tuning_options(OptionTable& t, TrainOptions& o) {
  t.group("Fine-tuning");
  t.add("freeze", o.freeze,
        "Parameters that training does not change. The word 'backbone' means all parameters except "
        "the head. Other values are patterns of names, separated by commas, such as "
        "layer1,layer2.*.conv1. Frozen batch norms keep their statistics")
      .set_stored(!o.freeze.empty());
  t.add("lr-head", o.lr_head, "Learning rate of the head. 0 means the value of --lr")
      .set_stored(o.lr_head != 0)
      .require(o.lr_head >= 0 && std::isfinite(o.lr_head), "positive, or 0 to use --lr");
  t.add("layer-decay", o.layer_decay,
        "Factor between the learning rates of a block and of the block before it. For example, "
        "with 0.9 each block has 0.9 times the learning rate of the next block. 1 means equal "
        "learning rates")
      .set_stored(o.layer_decay != 1)
      .require(o.layer_decay > 0 && o.layer_decay <= 1, "more than 0 and at most 1");
}

void add_batch_options(OptionTable& t, TrainOptions& o) {
  t.group("Batches");
  t.add("epochs", o.epochs, "Number of epochs of the whole run")
      .require(o.epochs >= 1 && o.epochs <= kMostCounted, "between 1 and 1000000000");
  t.add("steps", o.steps,
        "Number of steps of the whole run. This option replaces --epochs, and the last epoch may "
        "be incomplete. 0 means that --epochs decides")
      .set_stored(o.steps != 0)
      .set_yields_to({"epochs"})
      .require(o.steps >= 0 && o.steps <= kMostCounted, "between 1 and 1000000000, or 0 for none");
  t.add("batch-size", o.batch_size, "Number of samples in a batch of one process")
      .require(o.batch_size >= 1 && o.batch_size <= kMostCounted, "between 1 and 1000000000");
  t.add("global-batch-size", o.global_batch_size,
        "Number of samples in one step of all processes. This option replaces --batch-size. 0 "
        "means batch size * accumulate * number of processes")
      .set_yields_to({"batch-size", "accumulate"})
      .require(o.global_batch_size >= 0 && o.global_batch_size <= kMostCounted,
               "between 1 and 1000000000, or 0 for none");
  t.add(
       "accumulate", o.accumulate,
       "Number of batches of each process in one step. The gradients of these batches are added up")
      .require(o.accumulate >= 1 && o.accumulate <= kMostAccumulated, "between 1 and 1000000");
}

void add_schedule_options(OptionTable& t, TrainOptions& o) {
  t.group("Learning rate");
  t.add_choice("lr-scaling", o.lr_scaling, {},
               "Rule that scales --lr with the number of samples in a step: none, linear or sqrt");
  t.add("lr-base-batch", o.lr_base_batch,
        "Number of samples in a step for which --lr was chosen. --lr-scaling uses this number")
      .require(o.lr_base_batch >= 1, "at least 1");
  t.add("lr", o.lr, "Highest learning rate of the schedule")
      .require(o.lr > 0 && std::isfinite(o.lr), "positive");
  t.add_choice("lr-schedule", o.lr_schedule, "Schedule of the learning rate after the warm-up");
  t.add("lr-min", o.lr_min, "Learning rate at the end of the schedules 'cosine' and 'polynomial'")
      .require(o.lr_min >= 0 && o.lr_min <= o.lr,
               fmt::format("between 0 and {}, the value of {}", o.lr, option_name("lr")));
  t.add("warmup-epochs", o.warmup_epochs,
        "Length of the warm-up, in which the learning rate rises to --lr. It is a number of "
        "epochs, such as 5 or 0.5")
      .require(o.warmup_epochs >= 0 && (o.steps > 0 || o.warmup_epochs <= double(o.epochs)),
               fmt::format("between 0 and {}, the number of epochs", o.epochs))
      .require(o.warmup_epochs == 0 || o.lr_schedule != LrSchedule::onecycle,
               "0 with --lr-schedule onecycle, which has its own warm-up");
  t.add("warmup-steps", o.warmup_steps,
        "Length of the warm-up in steps. This option replaces --warmup-epochs. 0 means that "
        "--warmup-epochs decides")
      .set_stored(o.warmup_steps != 0)
      .set_yields_to({"warmup-epochs"})
      .require(o.warmup_steps >= 0 && (o.steps == 0 || o.warmup_steps <= o.steps),
               o.steps == 0 ? "0 or more"
                            : fmt::format("between 0 and {}, the number of steps", o.steps))
      .require(o.warmup_steps == 0 || o.lr_schedule != LrSchedule::onecycle,
               "0 with --lr-schedule onecycle, which has its own warm-up");
  t.add("warmup-start", o.warmup_start, "First learning rate of the warm-up, as a share of --lr")
      .require(o.warmup_start >= 0 && o.warmup_start <= 1, "between 0 and 1");
  t.add("lr-step-epochs", o.lr_step_epochs,
        "Number of epochs between two changes of the learning rate, for the schedule 'step'")
      .require(o.lr_step_epochs >= 1, "at least 1");
  t.add("lr-step-steps", o.lr_step_steps,
        "Number of training steps between two changes of the learning rate, for the schedule "
        "'step'. This option replaces --lr-step-epochs. 0 means that --lr-step-epochs decides")
      .set_stored(o.lr_step_steps != 0)
      .set_yields_to({"lr-step-epochs"})
      .require(o.lr_step_steps >= 0, "0 or more");
  t.add("lr-gamma", o.lr_gamma,
        "Factor of the learning rate at each change, for the schedule 'step'")
      .require(o.lr_gamma > 0 && o.lr_gamma <= 1, "more than 0 and at most 1");
  t.add("lr-power", o.lr_power,
        "Power of the schedule 'polynomial'. With 1, the learning rate falls in a straight line")
      .require(o.lr_power > 0 && std::isfinite(o.lr_power), "positive");
}

void add_optimizer_options(OptionTable& t, TrainOptions& o) {
  t.group("Optimizer");
  t.add_choice("optimizer", o.optimizer,
               "Optimizer: SGD with momentum, AdamW, or LARS for large batches")
      .require(!o.nesterov || o.optimizer == OptimizerKind::sgd, "sgd with --nesterov");
  t.add("momentum", o.momentum, "Momentum of SGD and LARS")
      .require(o.momentum >= 0 && o.momentum < 1, "0 or more and less than 1")
      .require(!o.nesterov || o.momentum > 0, "more than 0 with --nesterov");
  t.add("nesterov", o.nesterov, "Uses Nesterov's momentum for SGD");
  t.add_list<double>("adam-betas", {{"adam_beta1", &o.adam_beta1}, {"adam_beta2", &o.adam_beta2}},
                     "BETA1 BETA2",
                     "Decay rates of AdamW for the averages of the gradients and of their squares")
      .require(o.adam_beta1 >= 0 && o.adam_beta1 < 1 && o.adam_beta2 >= 0 && o.adam_beta2 < 1,
               "two numbers, each 0 or more and less than 1");
  t.add("adam-eps", o.adam_eps, "Epsilon of AdamW, a small number that AdamW adds to a divisor")
      .require(o.adam_eps > 0 && std::isfinite(o.adam_eps), "positive");
  t.add("lars-trust", o.lars_trust, "Trust coefficient of LARS")
      .require(o.lars_trust > 0 && std::isfinite(o.lars_trust), "positive");
  t.add("weight-decay", o.weight_decay, "Weight decay of the optimizer")
      .require(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "0 or more");
  t.add("norm-decay", o.norm_decay,
        "Also uses weight decay for biases and normalisation layers (default: on)");
  t.add("shard-optimizer", o.shard_optimizer,
        "Divides the optimizer's state among the processes that share the samples (ZeRO-1). Each "
        "process updates its share of the weights and sends this share to the other processes")
      .set_stored(o.shard_optimizer)
      .require(!o.shard_optimizer || o.optimizer != OptimizerKind::lars,
               "off with --optimizer lars, which needs whole layers in each process");
  t.add("clip-grad-norm", o.clip_grad_norm,
        "Limit for the total norm of the gradients. Larger gradients are scaled down to this norm. "
        "0 means no limit")
      .require(o.clip_grad_norm >= 0 && std::isfinite(o.clip_grad_norm), "positive, or 0 for none");
  t.add("ema-decay", o.ema_decay,
        "Keeps an exponential moving average of the weights with this decay, and validates the "
        "average. 0 means no average")
      .require(o.ema_decay >= 0 && o.ema_decay < 1, "0 or more and less than 1");
  t.add("ema-steps", o.ema_steps,
        "Number of steps between two updates of the average of --ema-decay")
      .require(o.ema_steps >= 1, "at least 1");
}

void add_process_options(OptionTable& t, TrainOptions& o) {
  t.group("Model");
  t.add(
      "seed", o.seed,
      "Number that determines the initial weights, the order of the samples and the augmentation");
  t.group("Devices and processes");
  t.add("sync-bn", o.sync_bn,
        "Batch norm computes its statistics over the batches of all processes");
  t.add("broadcast-buffers", o.broadcast_buffers,
        "Copies the running statistics of rank 0 to all processes before each step");
  t.group("Optimizer");
  t.add_choice(
      "amp", o.amp, {},
      "Mixed precision: off, bf16 or fp16. The names O0 (off), O1 and O2 (fp16) are also possible");
  t.add("loss-scale", o.loss_scale,
        "Factor of the loss with --amp fp16. It is a number, or the word 'dynamic'")
      .require(o.loss_scale >= 0 && std::isfinite(o.loss_scale), "positive, or dynamic")
      .set_zero_word("dynamic");
  t.group("Model");
  t.add("deterministic", o.deterministic,
        "Makes every run on a GPU give exactly the same numbers. Such a run is slower, and may end "
        "with an error. Runs on a CPU always give the same numbers");
}

void add_machine_options(OptionTable& t, TrainOptions& o) {
  t.group("Task and data");
  t.add("num-threads", o.num_threads,
        "Number of threads that read and decode samples. 0 means one thread for each core with a "
        "GPU, and one thread for every 16 cores without a GPU")
      .require(o.num_threads >= 0, "0 or more")
      .set_local();
  t.add("prefetch-batches", o.prefetch_batches,
        "Number of batches that the loader prepares before the training needs them")
      .require(o.prefetch_batches >= 1 && o.prefetch_batches <= 1024, "between 1 and 1024")
      .set_local();
  t.add("max-record", o.max_record_bytes,
        "Limit for the size of a record. A larger record is an error, so that a damaged file "
        "cannot use more memory")
      .require(o.max_record_bytes >= 1, "at least 1")
      .set_size();
  t.add_choice("bad-samples", o.bad_samples, {"fail", "skip"},
               "Action if a record cannot be read or decoded. 'fail' ends the run. 'skip' trains "
               "on another record instead, and leaves the record out of validation, evaluation and "
               "prediction. stderr lists and counts these records")
      .set_stored(o.bad_samples != BadSamples::fail)
      .require(o.bad_samples == BadSamples::fail || o.task_name() != "gpt2",
               "fail with the task gpt2, because its samples are cut from many records");
  const bool has_own_order = o.task_name() == "gpt2" || o.task_name() == "bevformer";
  t.add_choice("order", o.order, {"automatic", "shuffle", "windowed"},
               "Order of the training samples. 'shuffle' is a random order. With 'windowed', "
               "neighbouring records stay near each other, so that each block of a store is "
               "fetched only once. 'automatic' means 'windowed' for a data set in a store, and "
               "'shuffle' otherwise. A continued run keeps its order")
      .set_stored(o.order != Order::automatic)
      .require(o.order == Order::automatic || !has_own_order,
               fmt::format("automatic with the task {}, which has its own order of the samples",
                           o.task_name()));
  t.add("num-streams", o.num_streams,
        "Number of streams into which the order 'windowed' divides an epoch, so that processes "
        "read different blocks. 0 means one stream for each process")
      .set_stored(o.num_streams != 0)
      .require(o.num_streams >= 0 && o.num_streams <= 1 << 20,
               "between 1 and 1048576, or 0 for one per process")
      .require(o.num_streams <= 1 || !has_own_order,
               "0 with a task that has its own order of the samples")
      .require(o.num_streams <= 1 || o.order != Order::shuffle, "0 with --order shuffle");
  t.group("Model");
  t.add("compute-threads", o.compute_threads,
        "Number of threads that compute the model on a CPU. 0 means one thread for each core")
      .require(o.compute_threads >= 0, "0 or more")
      .set_local();
  t.group("Devices and processes");
  t.add("device", o.device, "Device that computes the model: auto, cpu, cuda or cuda:N")
      .set_local();
}

std::string kept_checkpoints(const TrainOptions& o) {
  return (o.keep_best ? "best," : "") +
         (o.keep_checkpoints == 0 ? "all" : std::to_string(o.keep_checkpoints));
}

// The newest one is always kept: a run goes on from it.
void keep_checkpoints(const std::string& words, TrainOptions& o) {
  int64_t num_newest = 1;
  bool keeps_best = false, keeps_all = false;
  std::istringstream in(words);
  for (std::string word; std::getline(in, word, ',');) {
    const int64_t number = number_of_text<int64_t>(word).value_or(0);
    if (word == "best") {
      keeps_best = true;
    } else if (word == "all") {
      keeps_all = true;
    } else if (number >= 1) {
      num_newest = std::max(num_newest, number);
    } else if (word != "last") {
      throw error_of(ErrorCode::invalid_argument,
                     "keep is '{}'; expected 'best', 'last', 'all' or a number of newest "
                     "checkpoints (1 or more), or several of these with commas between them",
                     words);
    }
  }
  o.keep_best = keeps_best;
  o.keep_checkpoints = keeps_all ? 0 : num_newest;
}

void add_run_options(OptionTable& t, TrainOptions& o) {
  t.group("Task and data");
  t.add("limit-batches", o.limit_batches,
        "Largest number of batches in each epoch of training and of validation, for a quick test. "
        "0 means all batches")
      .set_of_training()
      .require(o.limit_batches >= 0, "0 or more");
  t.add("dummy", o.dummy,
        "Trains on one batch of noise instead of --data, to measure only the model")
      .set_of_training();
  t.group("Run");
  t.add("work-dir", o.work_dir,
        "Folder for checkpoints and metrics. Without this option, the run writes no checkpoints "
        "and no metrics")
      .set_type_name("FOLDER")
      .set_stored(false);
  t.add("keep-checkpoints", o.keep_checkpoints,
        "Number of newest checkpoints that are kept. 0 means that all checkpoints are kept")
      .require(o.keep_checkpoints >= 0, "0 or more");
  t.add("keep-best", o.keep_best, "Also keeps the best checkpoint (default: on)")
      .set_stored(!o.keep_best);
  t.add_words(
       "keep", [&o] { return kept_checkpoints(o); },
       [&o](const std::string& words) { keep_checkpoints(words, o); },
       "Checkpoints to keep, one or several values with commas between them. The values are "
       "'best', 'last', 'all', or a number N for the N newest checkpoints")
      .set_stored(false);
  t.add("patience", o.patience,
        "Ends the run if this number of validations in a row gave no better result than the best "
        "validation before. 0 means that the run never ends for this reason")
      .set_stored(o.patience != 0)
      .require(o.patience >= 0, "0 or more");
  t.add("checkpoint-minutes", o.checkpoint_minutes,
        "Number of minutes between two checkpoints within an epoch. 0 means checkpoints only at "
        "the end of each epoch")
      .require(o.checkpoint_minutes >= 0 && std::isfinite(o.checkpoint_minutes), "0 or more");
  t.add("log-every", o.log_every, "Number of steps between two lines of metrics.jsonl")
      .require(o.log_every >= 1, "at least 1");
  t.add("eval-every", o.eval_every,
        "Number of epochs between two validations. There is always a validation after the last "
        "epoch")
      .set_stored(o.eval_every != 1)
      .require(o.eval_every >= 1, "at least 1");
}

}  // namespace

OptionTables option_tables(TrainOptions& options, const TaskRegistry& tasks) {
  const TaskEntry& task = tasks.find(options.task_name());
  if (options.any_task_options.get() == nullptr) options.any_task_options = task.make_options();
  OptionTables tables;
  // In the order of the JSON.
  add_data_options(tables.general, options, tasks);
  add_tuning_options(tables.general, options);
  add_batch_options(tables.general, options);
  add_schedule_options(tables.general, options);
  add_optimizer_options(tables.general, options);
  add_process_options(tables.general, options);
  add_machine_options(tables.general, options);
  add_run_options(tables.general, options);
  options.any_task_options.get()->describe(tables.task, options);
  return tables;
}

}  // namespace ffkit
