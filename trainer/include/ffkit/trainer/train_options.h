// TrainOptions: all options of a run and of its task. A plain value. The defaults are those of the
// usual ImageNet recipe for ResNet-50.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_table.h>
#include <ffkit/base/samples.h>
#include <ffkit/format/shard_facts.h>
#include <ffkit/trainer/task_options.h>

namespace ffkit {

enum class LrSchedule {
  cosine,      // half a cosine from lr to lr_min over the epochs after the warm-up
  step,        // lr times lr_gamma after every lr_step_epochs epochs
  polynomial,  // from lr to lr_min by a power of the share of steps left; power 1: a straight line
  onecycle,    // rises for three tenths of the run, then falls to almost 0; no other warm-up
  constant,    // lr
};
template <>
inline constexpr auto kNames<LrSchedule> =
    enum_names<LrSchedule>("lr schedule", {{LrSchedule::cosine, "cosine"},
                                           {LrSchedule::step, "step"},
                                           {LrSchedule::polynomial, "polynomial"},
                                           {LrSchedule::onecycle, "onecycle"},
                                           {LrSchedule::constant, "constant"}});

// Precision of the forward pass; weights and their updates stay float32.
enum class Amp {
  off,   // float32; also called O0
  bf16,  // bfloat16 where it is safe
  fp16,  // float16 where it is safe, with a scaled loss; also called O1 and O2
};
template <>
inline constexpr auto kNames<Amp> = enum_names<Amp>("--amp", {{Amp::off, "off"},
                                                              {Amp::bf16, "bf16"},
                                                              {Amp::fp16, "fp16"},
                                                              {Amp::off, "O0"},
                                                              {Amp::fp16, "O1"},
                                                              {Amp::fp16, "O2"}});

// How lr changes if a step takes another number of samples than lr_base_batch.
enum class LrScaling {
  none,
  linear,  // lr * batch / lr_base_batch (Goyal et al., "Accurate, Large Minibatch SGD", 2017)
  sqrt,    // lr * sqrt(batch / lr_base_batch), for adaptive optimisers
};
template <>
inline constexpr auto kNames<LrScaling> = enum_names<LrScaling>("--lr-scaling",
                                                                {{LrScaling::none, "none"},
                                                                 {LrScaling::linear, "linear"},
                                                                 {LrScaling::sqrt, "sqrt"}});

enum class OptimizerKind {
  sgd,    // with momentum
  adamw,  // Adam with decoupled weight decay
  // SGD with a rate for each layer, for large batches; biases and norms have no weight decay
  lars,
};
template <>
inline constexpr auto kNames<OptimizerKind> = enum_names<OptimizerKind>(
    "optimizer",
    {{OptimizerKind::sgd, "sgd"}, {OptimizerKind::adamw, "adamw"}, {OptimizerKind::lars, "lars"}});

// The task of checkpoints without one, and of measurements without data.
inline constexpr char kFirstTask[] = "classification";

struct DataFolder {
  std::filesystem::path path;
  std::optional<double> weight = std::nullopt;  // finite and > 0
  bool operator==(const DataFolder&) const = default;
};

// The data set folders of a run, as --data names them: one, or several that are mixed. A plain
// value.
//
//   A            one
//   A B          equal shares; smaller ones are repeated until the largest is used up
//   A:1 B:3      shares by weight; a folder without a weight has 1
class DataFolders {
 public:
  DataFolders() = default;
  // One folder; none if the path is empty. Not explicit, because most runs have one.
  DataFolders(const std::filesystem::path& folder);  // NOLINT(google-explicit-constructor)
  DataFolders(const std::string& folder);            // NOLINT(google-explicit-constructor)
  DataFolders(const char* folder);                   // NOLINT(google-explicit-constructor)
  explicit DataFolders(std::vector<DataFolder> folders);

  // From words of a command line or a file. If a file or folder has the whole word as its name,
  // that is the folder; otherwise the number after the last colon is a weight. Throws
  // Error(invalid_argument) for a weight that is not finite or not above 0.
  static DataFolders parse(const std::vector<std::string>& words);
  // parse() takes them back: "A:1", "B:3".
  std::vector<std::string> words() const;

  bool empty() const { return folders_.empty(); }
  bool are_several() const { return folders_.size() > 1; }
  const std::vector<DataFolder>& folders() const { return folders_; }
  // The weights of Mixture; empty for equal shares and for one folder.
  std::vector<double> weights() const;
  // The only folder; an empty path without any. Throws Error(invalid_argument) for several. For
  // code that takes one data set.
  const std::filesystem::path& only() const;
  // For messages: "A", "A:1 and B:3".
  std::string string() const;

  bool operator==(const DataFolders&) const = default;

 private:
  std::vector<DataFolder> folders_;
};

struct TrainOptions {
  // A name of the TaskRegistry; empty: the only task that fits the schema of the data.
  std::string task;
  DataFolders data;  // folders with the splits "train" and "val"; several are mixed
  // For checkpoints and metrics; it is made if it is missing. Empty: nothing is written.
  std::filesystem::path work_dir;

  // Weights that training starts from: .safetensors, .pth or a checkpoint; empty: drawn at random.
  std::filesystem::path pretrained;
  // The set of tensors to use if a file of weights (pretrained, a task's backbone_weights, weights
  // for evaluate()) has several, such as "model_ema" or "ema.state_dict"; or the prefix of their
  // names, such as "teacher.backbone". Empty: the set that training scripts use for the model.
  std::string weights_key;
  // Frozen parameters, which stay unchanged like the statistics of their batch norms: patterns of
  // names ("layer1", "features.*.weight"), separated by commas; "backbone": all except the head.
  // Empty: none.
  std::string freeze;
  double lr_head = 0;  // learning rate of the head, which follows the schedule too; 0: lr
  // Factor of the learning rate from a layer to the one before it, 0 < layer_decay <= 1.
  double layer_decay = 1;
  int64_t epochs = 90;  // >= 1
  // The run ends after this many steps, also within an epoch, with a validation, regardless of
  // `epochs` is. 0: it ends after `epochs`.
  int64_t steps = 0;
  int64_t batch_size = 256;  // samples a process works on at a time, >= 1
  // Samples a step over all processes; batch_size follows from it. 0: batch_size * processes *
  // accumulate.
  int64_t global_batch_size = 0;
  int64_t accumulate = 1;  // batches of a process in a step, whose gradients add up, >= 1
  LrScaling lr_scaling = LrScaling::none;
  int64_t lr_base_batch = 256;  // samples a step that lr is meant for, with lr_scaling, >= 1
  double lr = 0.1;              // highest learning rate, > 0
  LrSchedule lr_schedule = LrSchedule::cosine;
  double lr_min = 0;  // cosine and polynomial only: the last rate, 0 <= lr_min <= lr
  // Epochs of a linear rise to lr, 0 <= warmup_epochs <= epochs; fractions are allowed. Not with
  // onecycle.
  double warmup_epochs = 0;
  int64_t warmup_steps = 0;     // the same in steps; 0: warmup_epochs
  double warmup_start = 0.01;   // first rate, as a share of lr, 0 <= warmup_start <= 1
  int64_t lr_step_epochs = 30;  // step only, >= 1
  int64_t lr_step_steps = 0;    // step only: the same in steps; 0: lr_step_epochs
  double lr_gamma = 0.1;        // step only, 0 < lr_gamma <= 1
  double lr_power = 1;          // polynomial only, > 0
  OptimizerKind optimizer = OptimizerKind::sgd;
  double momentum = 0.9;       // sgd and lars, 0 <= momentum < 1
  bool nesterov = false;       // sgd only; needs momentum > 0
  double adam_beta1 = 0.9;     // adamw only: decay of the mean of gradients, 0 <= beta1 < 1
  double adam_beta2 = 0.999;   // adamw only: decay of the mean of their squares, 0 <= beta2 < 1
  double adam_eps = 1e-8;      // adamw only, > 0
  double lars_trust = 0.001;   // lars only: rate of a layer / (its norm / its gradient's norm), > 0
  double weight_decay = 1e-4;  // >= 0
  bool norm_decay = true;      // one-dimensional parameters (biases, norms) have weight decay, too
  // The processes that share the samples divide the optimiser's state (ZeRO-1). Not with lars.
  bool shard_optimizer = false;
  double clip_grad_norm = 0;  // the gradients' norm is scaled down to this, >= 0; 0: never
  // Decay of an exponential moving average of the weights, which is validated instead of them; 0 <=
  // ema_decay < 1. 0: no average.
  double ema_decay = 0;
  int64_t ema_steps = 1;           // steps between two updates of the average, >= 1
  uint64_t seed = 0;               // initial weights, order of the samples and their augmentation
  bool sync_bn = false;            // batch norm over the batches of all processes
  bool broadcast_buffers = false;  // rank 0's running statistics for all processes before each step
  Amp amp = Amp::off;
  double loss_scale = 0;  // fp16 only: factor of the loss, > 0; 0: found and adapted during the run
  // Uses kernels of a GPU that give the same bits in every run. They are slower: otherwise the
  // fastest of cuDNN's are chosen. If libtorch has no such kernel for an operator, the run ends
  // with Error(unsupported). A CPU's kernels always give the same bits.
  bool deterministic = false;
  // Decoding threads of the loader. 0: with a GPU as many as this process has cores, without one a
  // sixteenth of that.
  int num_threads = 0;
  int prefetch_batches = 3;  // batches that the loader prepares ahead, >= 1
  // Longer records are refused (ShardReaderOptions::max_record_bytes); >= 1.
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  BadSamples bad_samples = BadSamples::fail;
  // Threads of libtorch's kernels. 0: this process's share of the cores that its machine's
  // processes may use.
  int compute_threads = 0;
  // cpu, cuda (the local rank's), cuda:N; auto: cuda if there is a GPU.
  std::string device = "auto";
  int64_t limit_batches = 0;  // steps of an epoch and of a validation, for a quick try; 0: all
  bool dummy = false;         // trains on one batch of noise, for the model's speed; no validation
  int64_t keep_checkpoints = 3;  // number of newest checkpoints that are kept; 0: all
  bool keep_best = true;         // the best checkpoint is kept, too
  // The run ends after so many validations in turn without a new best one; 0: it does not.
  int64_t patience = 0;
  int64_t log_every = 50;  // steps between two lines of metrics.jsonl, >= 1
  int64_t eval_every = 1;  // epochs between two validations, >= 1; the last epoch always has one
  double checkpoint_minutes = 0;  // minutes between checkpoints within an epoch; 0: none

  // The options of the task as its class Own (OwnOptions); the defaults if none are set. Throws
  // Error(invalid_argument) if they are another task's.
  template <typename Own>
  Own& task_options();
  template <typename Own>
  const Own& task_options() const;
  AnyTaskOptions any_task_options;  // empty: the task's defaults

  Order order = Order::automatic;
  // Windowed order: number of streams that an epoch is divided into (WindowOptions::num_streams);
  // 0: one per process.
  int64_t num_streams = 0;

  // `task`, or kFirstTask where it is empty.
  const std::string& task_name() const;
  // These options with batch_size, lr and global_batch_size for `world_size` processes. Throws
  // Error(invalid_argument) if the processes cannot share the global batch evenly.
  TrainOptions resolved(int world_size) const;
};

[[noreturn]] void refuse_other_task_options();

template <typename Own>
Own& TrainOptions::task_options() {
  if (any_task_options.get() == nullptr) any_task_options = AnyTaskOptions(std::make_unique<Own>());
  auto* own = dynamic_cast<Own*>(any_task_options.get());
  if (own == nullptr) refuse_other_task_options();
  return *own;
}

template <typename Own>
const Own& TrainOptions::task_options() const {
  static const Own defaults;
  if (any_task_options.get() == nullptr) return defaults;
  const auto* own = dynamic_cast<const Own*>(any_task_options.get());
  if (own == nullptr) refuse_other_task_options();
  return *own;
}

class TaskRegistry;

struct OptionTables {
  OptionTable general;
  OptionTable task;
};
// The tables of all options, over `options`: those of the run and of its task. Without options of
// the task, they get their defaults. Throws Error(invalid_argument) for an unknown task.
OptionTables option_tables(TrainOptions& options);
// The same where the tasks are not those of TaskRegistry::instance(); needs no libtorch.
OptionTables option_tables(TrainOptions& options, const TaskRegistry& tasks);

// Throws Error(invalid_argument) that names the first option out of range, of the run or its task.
void validate(const TrainOptions& options);

}  // namespace ffkit
