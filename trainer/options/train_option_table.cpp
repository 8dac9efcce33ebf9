#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

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
  t.add("task", o.task, "Kind of training; default: the task that fits the schema of the data")
      .set_type_name("NAME")
      .set_stored(o.task_name() != kFirstTask)
      .set_choices(tasks.names())
      .set_left_out("task");
  t.add_paths(
       "data", [&o] { return o.data.words(); },
       [&o](const std::vector<std::string>& words) { o.data = DataFolders::parse(words); },
       "Data set folder with the splits train and val. If given several times, the data sets are "
       "mixed. With DATA:WEIGHT, WEIGHT is the share of an epoch, and an epoch has as many samples "
       "as all data sets have records. Without weights, shares are equal, and smaller data sets "
       "are repeated up to the size of the largest")
      .set_type_name("DATA")
      .set_local();
  t.group("Model");
  t.add("pretrained", o.pretrained,
        "Start from these weights: .pth, .safetensors or a checkpoint. A head with another number "
        "of rows gets new random weights")
      .set_type_name("FILE");
  t.add("weights-key", o.weights_key,
        "Set of tensors to use if a file of weights has several, such as model_ema; or the prefix "
        "of the names of its tensors, such as teacher.backbone")
      .set_type_name("KEY")
      .set_stored(!o.weights_key.empty());
}

void add_tuning_options(OptionTable& t, TrainOptions& o) {
  t.group("Fine-tuning");
  t.add("freeze", o.freeze,
        "Parameters that stay unchanged: backbone (all except the head), or patterns of names, "
        "separated by commas, such as layer1,layer2.*.conv1. Batch norms that are frozen keep "
        "their statistics")
      .set_stored(!o.freeze.empty());
  t.add("lr-head", o.lr_head, "Learning rate of the head, if it differs from --lr; 0: --lr")
      .set_stored(o.lr_head != 0)
      .require(o.lr_head >= 0 && std::isfinite(o.lr_head), "positive, or 0 to use lr");
  t.add("layer-decay", o.layer_decay,
        "Factor of the learning rate from each block to the one before it; 1: none")
      .set_stored(o.layer_decay != 1)
      .require(o.layer_decay > 0 && o.layer_decay <= 1, "more than 0 and at most 1");
}

void add_batch_options(OptionTable& t, TrainOptions& o) {
  t.group("Batches");
  t.add("epochs", o.epochs, "Epochs of the whole run")
      .require(o.epochs >= 1 && o.epochs <= kMostCounted, "1 to 1000000000");
  t.add("steps", o.steps,
        "Steps of the whole run, instead of --epochs; the last epoch may be cut; 0: --epochs")
      .set_stored(o.steps != 0)
      .set_yields_to({"epochs"})
      .require(o.steps >= 0 && o.steps <= kMostCounted, "1 to 1000000000, or 0 for none");
  t.add("batch-size", o.batch_size, "Samples in a batch of one process")
      .require(o.batch_size >= 1 && o.batch_size <= kMostCounted, "1 to 1000000000");
  t.add("global-batch-size", o.global_batch_size,
        "Samples in one step of all processes; replaces --batch-size; 0: batch size * "
        "accumulate * processes")
      .set_yields_to({"batch-size", "accumulate"})
      .require(o.global_batch_size >= 0 && o.global_batch_size <= kMostCounted,
               "1 to 1000000000, or 0 for none");
  t.add("accumulate", o.accumulate,
        "Batches of each process in one step; their gradients are added up")
      .require(o.accumulate >= 1 && o.accumulate <= kMostAccumulated, "1 to 1000000");
}

void add_schedule_options(OptionTable& t, TrainOptions& o) {
  t.group("Learning rate");
  t.add_choice("lr-scaling", o.lr_scaling, {},
               "Scales --lr with the number of samples in a step: none, linear, sqrt");
  t.add("lr-base-batch", o.lr_base_batch,
        "With --lr-scaling: the number of samples in a step for which --lr was chosen")
      .require(o.lr_base_batch >= 1, "at least 1");
  t.add("lr", o.lr, "Learning rate: the highest of the schedule")
      .require(o.lr > 0 && std::isfinite(o.lr), "positive");
  t.add_choice("lr-schedule", o.lr_schedule, "Schedule of the learning rate after the warm-up");
  t.add("lr-min", o.lr_min, "Schedules cosine and polynomial: learning rate at the end")
      .require(o.lr_min >= 0 && o.lr_min <= o.lr, fmt::format("0 to lr, {}", o.lr));
  t.add("warmup-epochs", o.warmup_epochs,
        "Warm-up: number of epochs in which the learning rate rises to --lr; may be a fraction")
      .require(o.warmup_epochs >= 0 && (o.steps > 0 || o.warmup_epochs <= double(o.epochs)),
               fmt::format("0 to the number of epochs, {}", o.epochs))
      .require(o.warmup_epochs == 0 || o.lr_schedule != LrSchedule::onecycle,
               "0 with the schedule onecycle, which has its own warm-up");
  t.add("warmup-steps", o.warmup_steps,
        "Warm-up in steps, instead of --warmup-epochs; 0: --warmup-epochs")
      .set_stored(o.warmup_steps != 0)
      .set_yields_to({"warmup-epochs"})
      .require(o.warmup_steps >= 0 && (o.steps == 0 || o.warmup_steps <= o.steps),
               o.steps == 0 ? "0 or more" : fmt::format("0 to the number of steps, {}", o.steps))
      .require(o.warmup_steps == 0 || o.lr_schedule != LrSchedule::onecycle,
               "0 with the schedule onecycle, which has its own warm-up");
  t.add("warmup-start", o.warmup_start, "Warm-up: first learning rate, as a share of --lr")
      .require(o.warmup_start >= 0 && o.warmup_start <= 1, "0 to 1");
  t.add("lr-step-epochs", o.lr_step_epochs, "Schedule step: epochs between two steps")
      .require(o.lr_step_epochs >= 1, "at least 1");
  t.add("lr-step-steps", o.lr_step_steps,
        "Schedule step: training steps between two steps, instead of --lr-step-epochs; 0: "
        "--lr-step-epochs")
      .set_stored(o.lr_step_steps != 0)
      .set_yields_to({"lr-step-epochs"})
      .require(o.lr_step_steps >= 0, "0 or more");
  t.add("lr-gamma", o.lr_gamma, "Schedule step: factor of each step")
      .require(o.lr_gamma > 0 && o.lr_gamma <= 1, "more than 0 and at most 1");
  t.add("lr-power", o.lr_power, "Schedule polynomial: its power; 1: a straight line")
      .require(o.lr_power > 0 && std::isfinite(o.lr_power), "positive");
}

void add_optimizer_options(OptionTable& t, TrainOptions& o) {
  t.group("Optimizer");
  t.add_choice("optimizer", o.optimizer, "SGD with momentum, AdamW, or LARS for large batches")
      .require(!o.nesterov || o.optimizer == OptimizerKind::sgd, "sgd with nesterov");
  t.add("momentum", o.momentum, "SGD and LARS: momentum")
      .require(o.momentum >= 0 && o.momentum < 1, "0 or more and less than 1")
      .require(!o.nesterov || o.momentum > 0, "more than 0 with nesterov");
  t.add("nesterov", o.nesterov, "SGD: Nesterov's momentum");
  t.add_list<double>("adam-betas", {{"adam_beta1", &o.adam_beta1}, {"adam_beta2", &o.adam_beta2}},
                     "BETA1 BETA2",
                     "AdamW: decay rates of the averages of the gradients and of their squares")
      .require(o.adam_beta1 >= 0 && o.adam_beta1 < 1 && o.adam_beta2 >= 0 && o.adam_beta2 < 1,
               "two numbers, each 0 or more and less than 1");
  t.add("adam-eps", o.adam_eps, "AdamW: epsilon")
      .require(o.adam_eps > 0 && std::isfinite(o.adam_eps), "positive");
  t.add("lars-trust", o.lars_trust, "LARS: trust coefficient")
      .require(o.lars_trust > 0 && std::isfinite(o.lars_trust), "positive");
  t.add("weight-decay", o.weight_decay, "Weight decay")
      .require(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "0 or more");
  t.add("norm-decay", o.norm_decay,
        "Weight decay also for biases and normalisation layers (default: on)");
  t.add("shard-optimizer", o.shard_optimizer,
        "Divides the optimizer's state among the processes that share the samples (ZeRO-1): each "
        "updates its share of the weights and sends it to the others")
      .set_stored(o.shard_optimizer)
      .require(!o.shard_optimizer || o.optimizer != OptimizerKind::lars,
               "off with the optimizer lars, which needs whole layers in each process");
  t.add("clip-grad-norm", o.clip_grad_norm, "Clips the gradients to this total norm; 0: off")
      .require(o.clip_grad_norm >= 0 && std::isfinite(o.clip_grad_norm), "positive, or 0 for none");
  t.add("ema-decay", o.ema_decay,
        "Keeps an exponential moving average of the weights with this decay, and "
        "validates the average; 0: off")
      .require(o.ema_decay >= 0 && o.ema_decay < 1, "0 or more and less than 1");
  t.add("ema-steps", o.ema_steps, "Steps between two updates of the average")
      .require(o.ema_steps >= 1, "at least 1");
}

void add_process_options(OptionTable& t, TrainOptions& o) {
  t.group("Model");
  t.add("seed", o.seed, "Determines initial weights, order of the samples and augmentation");
  t.group("Devices and processes");
  t.add("sync-bn", o.sync_bn,
        "Batch norm computes its statistics over the batches of all processes");
  t.add("broadcast-buffers", o.broadcast_buffers,
        "All processes take the running statistics of rank 0 before each step");
  t.group("Optimizer");
  t.add_choice("amp", o.amp, {}, "Mixed precision: off (O0), bf16, fp16 (O1, O2)");
  t.add("loss-scale", o.loss_scale, "With --amp fp16: the factor of the loss, a number or dynamic")
      .require(o.loss_scale >= 0 && std::isfinite(o.loss_scale), "positive, or dynamic")
      .set_zero_word("dynamic");
  t.group("Model");
  t.add("deterministic", o.deterministic,
        "Gives the same bits in every run on a GPU, too. It is slower, and may end with an error. "
        "A CPU always gives the same bits");
}

void add_machine_options(OptionTable& t, TrainOptions& o) {
  t.group("Task and data");
  t.add("num-threads", o.num_threads,
        "Threads that read and decode; 0: with a GPU all cores, without a GPU one for every 16 "
        "cores")
      .require(o.num_threads >= 0, "0 or more")
      .set_local();
  t.add("prefetch-batches", o.prefetch_batches, "Batches to prepare ahead")
      .require(o.prefetch_batches >= 1 && o.prefetch_batches <= 1024, "1 to 1024")
      .set_local();
  t.add("max-record", o.max_record_bytes,
        "Largest record to read; so a damaged file cannot use more memory than this")
      .require(o.max_record_bytes >= 1, "at least 1")
      .set_size();
  t.add_choice("bad-samples", o.bad_samples, {"fail", "skip"},
               "If a record cannot be read or decoded, fail ends the run. skip trains on another "
               "record, and leaves the record out of validation, evaluation and prediction; stderr "
               "names and counts these records")
      .set_stored(o.bad_samples != BadSamples::fail)
      .require(o.bad_samples == BadSamples::fail || o.task_name() != "gpt2",
               "fail with the task gpt2, whose samples are cut from many records");
  const bool has_own_order = o.task_name() == "gpt2" || o.task_name() == "bevformer";
  t.add_choice("order", o.order, {"automatic", "shuffle", "windowed"},
               "Order of the training samples. windowed: neighbours stay near each other, so that "
               "each block of a store is fetched once; automatic: windowed over a data set in a "
               "store, shuffle otherwise; a continued run keeps its order")
      .set_stored(o.order != Order::automatic)
      .require(
          o.order == Order::automatic || !has_own_order,
          fmt::format("automatic with the task {}, which has orders of its own", o.task_name()));
  t.add("num-streams", o.num_streams,
        "Windowed order: number of streams that an epoch is divided into, so that processes read "
        "different blocks; 0: one per process")
      .set_stored(o.num_streams != 0)
      .require(o.num_streams >= 0 && o.num_streams <= 1 << 20,
               "1 to 1048576, or 0 for one per process")
      .require(o.num_streams <= 1 || (o.order != Order::shuffle && !has_own_order),
               "0 without a windowed order");
  t.group("Model");
  t.add("compute-threads", o.compute_threads,
        "Threads that compute the model on a CPU; 0: all cores")
      .require(o.compute_threads >= 0, "0 or more")
      .set_local();
  t.group("Devices and processes");
  t.add("device", o.device, "auto, cpu, cuda or cuda:N").set_local();
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
      throw error_of(
          ErrorCode::invalid_argument,
          "keep is '{}'; expected best, last, all or numbers of 1 or more, separated by commas",
          words);
    }
  }
  o.keep_best = keeps_best;
  o.keep_checkpoints = keeps_all ? 0 : num_newest;
}

void add_run_options(OptionTable& t, TrainOptions& o) {
  t.group("Task and data");
  t.add("limit-batches", o.limit_batches,
        "For a quick try: at most this many batches in each training and validation "
        "epoch; 0: all")
      .set_of_training()
      .require(o.limit_batches >= 0, "0 or more");
  t.add("dummy", o.dummy,
        "Train on one batch of noise instead of --data, to measure only the model")
      .set_of_training();
  t.group("Run");
  t.add("work-dir", o.work_dir, "Folder for checkpoints and metrics; without it nothing is kept")
      .set_type_name("FOLDER")
      .set_stored(false);
  t.add("keep-checkpoints", o.keep_checkpoints,
        "Number of the newest checkpoints that are kept; 0: all")
      .require(o.keep_checkpoints >= 0, "0 or more");
  t.add("keep-best", o.keep_best, "Keeps the best checkpoint, too (default: on)")
      .set_stored(!o.keep_best);
  t.add_words(
       "keep", [&o] { return kept_checkpoints(o); },
       [&o](const std::string& words) { keep_checkpoints(words, o); },
       "Checkpoints to keep, separated by commas: best, last, all, or a number of the newest")
      .set_stored(false);
  t.add("patience", o.patience,
        "Ends the run if this many validations in a row were not better than the best one; 0: off")
      .set_stored(o.patience != 0)
      .require(o.patience >= 0, "0 or more");
  t.add("checkpoint-minutes", o.checkpoint_minutes,
        "Minutes between checkpoints within an epoch; 0: only at the end of each epoch")
      .require(o.checkpoint_minutes >= 0 && std::isfinite(o.checkpoint_minutes), "0 or more");
  t.add("log-every", o.log_every, "Steps between two lines of metrics.jsonl")
      .require(o.log_every >= 1, "at least 1");
  t.add("eval-every", o.eval_every, "Epochs between two validations; the last epoch always has one")
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
