// TrainOptions: everything that defines a training run, whatever its task, and the options of its
// task. A plain value; the defaults are those of the usual ImageNet recipe for ResNet-50.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/option_table.h>
#include <ffkit/format/shard_facts.h>
#include <ffkit/trainer/task_options.h>

namespace ffkit {

enum class LrSchedule {
  cosine,      // half a cosine from lr to lr_min over the epochs after the warm-up
  step,        // lr times lr_gamma after every lr_step_epochs epochs
  polynomial,  // from lr to lr_min by a power of the share of steps left; power 1: a straight line
  // rises for three tenths of the run, then falls to almost nothing; has no other warm-up
  onecycle,
  constant,  // lr
};
std::string_view to_string(LrSchedule schedule);
LrSchedule parse_lr_schedule(std::string_view name);

// Precision of the forward pass; weights and their updates stay float32.
enum class Amp {
  off,   // float32; also called O0
  bf16,  // bfloat16 where it is safe
  fp16,  // float16 where it is safe, with a scaled loss; also called O1 and O2
};
std::string_view to_string(Amp amp);
Amp parse_amp(std::string_view name);

// What a record does to a run that cannot be read or decoded.
enum class OnBadSample {
  fail,  // ends it
  // another record takes its place (BadSamples::skip of the loader); each is named on stderr, and
  // counted at the end of the epoch
  skip,
};
std::string_view to_string(OnBadSample policy);
OnBadSample parse_on_bad_sample(std::string_view name);

// What becomes of lr when a step takes another number of samples than lr_base_batch.
enum class LrScaling {
  none,
  linear,  // lr * batch / lr_base_batch (Goyal et al., "Accurate, Large Minibatch SGD", 2017)
  sqrt,    // lr * sqrt(batch / lr_base_batch), for adaptive optimisers
};
std::string_view to_string(LrScaling scaling);
LrScaling parse_lr_scaling(std::string_view name);

enum class OptimizerKind {
  sgd,    // with momentum
  adamw,  // Adam with decoupled weight decay
  // SGD with a rate of its own for each layer, for large batches; leaves biases and norms out of
  // the weight decay
  lars,
};
std::string_view to_string(OptimizerKind kind);
OptimizerKind parse_optimizer(std::string_view name);

// The task of checkpoints that name none, and of measurements without data.
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
//   A B          equal shares; the smaller ones are repeated as often as the largest needs
//   A:1 B:3      shares by weight; a folder without a weight has 1 then
class DataFolders {
 public:
  DataFolders() = default;
  // One folder; none where the path is empty. Not explicit: most runs have one.
  DataFolders(const std::filesystem::path& folder);  // NOLINT(google-explicit-constructor)
  DataFolders(const std::string& folder);            // NOLINT(google-explicit-constructor)
  DataFolders(const char* folder);                   // NOLINT(google-explicit-constructor)
  explicit DataFolders(std::vector<DataFolder> folders);

  // Of the words of a command line or a file. A word that names something in the file system is
  // that folder; otherwise the number behind its last colon is a weight. Throws
  // Error(invalid_argument) for a weight that is not finite and more than 0.
  static DataFolders parse(const std::vector<std::string>& words);
  // parse() takes them back: "A:1", "B:3".
  std::vector<std::string> words() const;

  bool empty() const { return folders_.empty(); }
  bool are_several() const { return folders_.size() > 1; }
  const std::vector<DataFolder>& folders() const { return folders_; }
  // The weights of Mixture; empty for equal shares and for one folder.
  std::vector<double> weights() const;
  // The one folder, an empty path for none. Throws Error(invalid_argument) when there are several:
  // for what takes one data set.
  const std::filesystem::path& only() const;
  // For messages: "A", "A:1 and B:3".
  std::string string() const;

  bool operator==(const DataFolders&) const = default;

 private:
  std::vector<DataFolder> folders_;
};

struct TrainOptions {
  // What is trained, a name of the TaskRegistry; empty: the one task that the schema of the data
  // fits.
  std::string task;
  DataFolders data;  // folders with the splits "train" and "val": one, or several that are mixed
  // Checkpoints and metrics; made when missing. Empty: nothing is written.
  std::filesystem::path work_dir;

  // Weights that training starts from: .safetensors, .pth or a checkpoint; empty: drawn anew.
  std::filesystem::path pretrained;
  // Where a file of weights (pretrained, a task's backbone_weights, what evaluate() takes) holds
  // several sets of tensors: which, as "model_ema" or "ema.state_dict"; also the words that begin
  // the names of its tensors, as "teacher.backbone". Empty: those that training scripts call the
  // model's.
  std::string weights_key;
  // Parameters that training leaves as they are, with the statistics of their batch norms: patterns
  // of names ("layer1", "features.*.weight") with commas between them; "backbone": all but the
  // head. Empty: none.
  std::string freeze;
  double lr_head = 0;  // learning rate of the head, with the schedule's course; 0: lr
  // Factor of the learning rate from a block to the one before it, 0 < layer_decay <= 1.
  double layer_decay = 1;
  int64_t epochs = 90;  // >= 1
  // The run ends after so many steps, also within an epoch, with a validation; 0: after `epochs`,
  // which count for nothing otherwise.
  int64_t steps = 0;
  int64_t batch_size = 256;  // samples a process works on at a time, >= 1
  // Samples a step over all processes; 0: batch_size * processes * accumulate. Otherwise batch_size
  // is what it makes of it.
  int64_t global_batch_size = 0;
  int64_t accumulate = 1;  // batches a step and process, whose gradients add up, >= 1
  LrScaling lr_scaling = LrScaling::none;
  int64_t lr_base_batch = 256;  // batch that lr is meant for, with a scaling, >= 1
  double lr = 0.1;              // highest learning rate, > 0
  LrSchedule lr_schedule = LrSchedule::cosine;
  double lr_min = 0;  // cosine and polynomial only: where they end, 0 <= lr_min <= lr
  // linear rise to lr, also of a part of an epoch, 0 <= warmup_epochs <= epochs; not with onecycle
  double warmup_epochs = 0;
  int64_t warmup_steps = 0;     // the same in steps, instead of warmup_epochs; 0: warmup_epochs
  double warmup_start = 0.01;   // where it begins, as a share of lr, 0 <= warmup_start <= 1
  int64_t lr_step_epochs = 30;  // step only, >= 1
  // Step only: the same in steps, instead of lr_step_epochs; 0: lr_step_epochs.
  int64_t lr_step_steps = 0;
  double lr_gamma = 0.1;  // step only, 0 < lr_gamma <= 1
  double lr_power = 1;    // polynomial only, > 0
  OptimizerKind optimizer = OptimizerKind::sgd;
  double momentum = 0.9;       // sgd and lars, 0 <= momentum < 1
  bool nesterov = false;       // sgd only; needs momentum > 0
  double adam_beta1 = 0.9;     // adamw only: decay of the mean of gradients, 0 <= beta1 < 1
  double adam_beta2 = 0.999;   // adamw only: decay of the mean of their squares, 0 <= beta2 < 1
  double adam_eps = 1e-8;      // adamw only, > 0
  double lars_trust = 0.001;   // lars only: rate of a layer / (its norm / its gradient's norm), > 0
  double weight_decay = 1e-4;  // >= 0
  bool norm_decay = true;      // weight decay also of one-dimensional parameters: biases and norms
  // The optimiser's state is divided among the processes that share the samples (ZeRO-1); not with
  // lars.
  bool shard_optimizer = false;
  double clip_grad_norm = 0;  // the gradients' norm is scaled down to this one, >= 0; 0: never
  // Decay of the exponential moving average of the weights, 0 <= ema_decay < 1; 0: none. What is
  // validated is the average then.
  double ema_decay = 0;
  int64_t ema_steps = 1;           // steps between two updates of the average, >= 1
  uint64_t seed = 0;               // initial weights, order of the samples and their augmentation
  bool sync_bn = false;            // batch norm over the batches of all processes
  bool broadcast_buffers = false;  // rank 0's running statistics for all processes before each step
  Amp amp = Amp::off;
  double loss_scale = 0;  // fp16 only: factor of the loss, > 0; 0: found and adapted on the way
  // Kernels that give the same bits in every run, as far as libtorch has them, also on a GPU, where
  // they are slower and those of cuDNN are otherwise chosen by trying. A CPU's always do.
  bool deterministic = false;
  // decoding threads of the loader; 0: all of this process's cores with a GPU, one for every 16
  // without
  int threads = 0;
  int prefetch = 3;  // batches that the loader prepares ahead, >= 1
  // Longer records are refused (ShardReaderOptions::max_record_bytes), >= 1.
  int64_t max_record_bytes = ShardReaderOptions{}.max_record_bytes;
  OnBadSample bad_samples = OnBadSample::fail;
  // threads of libtorch's kernels; 0: all cores this process may use, shared with the other
  // processes of its machine
  int compute_threads = 0;
  // Cpu, cuda (that of the local rank), cuda:N; auto: cuda where there is a GPU.
  std::string device = "auto";
  // Steps an epoch, in training and in validation, for a quick try; 0: all.
  int64_t limit_batches = 0;
  // One batch of noise instead of data: what the model alone can do; no validation.
  bool dummy = false;
  int64_t keep_checkpoints = 3;  // newest ones kept; 0: all
  bool keep_best = true;         // and the best one
  // The run ends when so many validations in turn were no better than the best one; 0: it does not.
  int64_t patience = 0;
  int64_t log_every = 50;  // steps between two lines of metrics.jsonl, >= 1
  int64_t eval_every = 1;  // epochs between two validations, >= 1; the last epoch has one

  // Also a checkpoint after so many minutes within an epoch; 0: none.
  double checkpoint_minutes = 0;

  // The options of the task, which are Own, a class of OwnOptions; its defaults where none are set.
  // Throws Error(invalid_argument) when they are another task's.
  template <typename Own>
  Own& task_options();
  template <typename Own>
  const Own& task_options() const;
  AnyTaskOptions any_task_options;  // empty: the task's defaults

  // `task`, or kFirstTask where it is empty.
  const std::string& task_name() const;
  // These options with batch_size, lr and global_batch_size as `world_size` processes have them.
  // Throws Error(invalid_argument) when the global batch cannot be divided evenly.
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

struct OptionTables {
  OptionTable general;
  OptionTable task;
};
// All options over `options`, those of the run and those of its task, which get their defaults
// where `options` have none. Throws Error(invalid_argument) for a task that there is not.
OptionTables option_tables(TrainOptions& options);

// Throws Error(invalid_argument) naming the first option that is out of range, of the run and of
// its task.
void validate(const TrainOptions& options);

}  // namespace ffkit
