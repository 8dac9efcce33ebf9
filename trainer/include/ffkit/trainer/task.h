// Task: data, network, loss and metrics of a training. Runs, checkpoints, reports and processes use
// only this interface. trainer/tasks/README.md has the order of the calls.
//
// A task belongs to one run on one process. It may keep a network, data sets or a state between
// calls. Not thread-safe. All processes make the same calls in the same order.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/launch/launch.h>
#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/peers.h>
#include <ffkit/trainer/task_options.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Where a task runs.
struct TaskSetting {
  TrainOptions options;  // resolved for this number of processes
  // The place among the processes that share the samples. These are all processes of the run,
  // unless the task has a mesh (TaskEntry::mesh). Processes that differ only in another dimension
  // of the mesh have the same rank here, and the same batches.
  ProcessPlace place;
  c10::Device device = c10::kCPU;
  // The processes that share the samples. Never null; it lives as long as the run. loss() may use
  // it, because all processes have the same number of training batches.
  std::shared_ptr<Peers> peers = std::make_shared<Peers>();
  // The processes along each dimension of the task's mesh, by its name. They have the same batches.
  std::map<std::string, std::shared_ptr<Peers>, std::less<>> peers_along = {};
};

// One evaluation of a split.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  // Called before the first batch if write_results() or write_confusion() will follow.
  virtual void keep_predictions() {}
  // Takes a batch of this process's share. The model is in evaluation mode, without gradients, in
  // the precision of the run.
  virtual void add(const DeviceBatch& batch) = 0;
  // The metrics of TaskEntry::metrics over all processes. Collective; a process may have had no
  // batch. Without truth to compare with, there are no metrics (EvalResult::no_metrics): the
  // evaluation fails then, unless results are wanted.
  virtual EvalResult finish(Peers& peers) = 0;
  // Writes the results to a file, after finish(), only on rank 0, for tasks with
  // TaskEntry::results. Throws Error(io).
  virtual void write_results(const std::filesystem::path& file);
  // Likewise writes the confusion matrix, for tasks with TaskEntry::confusion_endings. Returns a
  // table as text. Throws Error(invalid_argument), Error(io).
  virtual std::string write_confusion(const std::filesystem::path& file);
};

// A process's share of a tensor: the indices of `runs` along `dimension`, one run after the other,
// and all indices along the other dimensions.
struct TensorCut {
  struct Run {
    int64_t begin = 0, count = 0;
  };
  int64_t dimension = 0;
  std::vector<Run> runs = {};  // empty: all of the tensor
};
// The share of `whole`. It is a view if there is at most one run.
at::Tensor part_of(const at::Tensor& whole, const TensorCut& cut);

// How the processes of a task's mesh (TaskEntry::mesh) share the parameters of a network. Ranks are
// those of the mesh: neighbours in the last dimension have neighbouring ranks. Pure functions, the
// same on all processes.
class ParameterParts {
 public:
  virtual ~ParameterParts() = default;
  // All parameters of the whole network, in a fixed order.
  virtual std::vector<std::string> names() const = 0;
  virtual std::vector<int64_t> whole_shape(const std::string& name) const = 0;
  // The ranks whose parts make up the whole, each number once. Other ranks may have copies of
  // parts.
  virtual std::vector<int> holders(const std::string& name) const = 0;
  // The share of `rank`, if it has one.
  virtual TensorCut cut(const std::string& name, int rank) const = 0;
};

class Task {
 public:
  explicit Task(TaskSetting setting) : setting_(std::move(setting)) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // --- What it trains on. The first call is open(), open_noise() or set_facts().

  // Opens the training data and reads the facts from them. Throws Error(not_found) without data,
  // Error(invalid_argument) if they do not fit this task.
  virtual void open() = 0;
  // Sets facts for noise(), without data.
  virtual void open_noise() {}
  // The fingerprint of the opened data. It must be equal on all processes of a run, and a run
  // continues only on data with the same fingerprint.
  virtual std::string fingerprint() const = 0;
  virtual TaskFacts facts() const { return {}; }
  // Takes over the facts of a checkpoint. Throws Error(corrupt) if facts() never gives such.
  virtual void set_facts(const TaskFacts& /*facts*/) {}
  // The reason if this run cannot continue one with these options and facts, as words after the
  // checkpoint's path. Empty: it can.
  virtual std::string misfit(const TrainOptions& stored, const TaskFacts& facts) const;
  // The facts of weights from `file`, which is no checkpoint. Throws Error(invalid_argument) if
  // they do not fit the data.
  virtual TaskFacts facts_of_weights(const std::vector<NamedTensor>& /*weights*/,
                                     const std::filesystem::path& /*file*/) {
    return facts();
  }

  // A new source of the training batches of `epoch`, counted from 0. Each batch holds
  // options.batch_size samples.
  virtual std::unique_ptr<BatchSource> training_batches(int64_t epoch) = 0;
  // Whether the source that was made for epoch `other` also gives the batches of `epoch`.
  virtual bool shares_source(int64_t /*epoch*/, int64_t /*other*/) const { return true; }
  // Every sample that is validated, once. Throws Error(not_found) without any.
  virtual std::unique_ptr<BatchSource> validation_batches() = 0;
  // Every sample of options.data to predict, once and in order, with or without labels. The data
  // are a data set, or files that the task can read without a conversion. Throws Error(unsupported)
  // if the task predicts nothing.
  virtual std::unique_ptr<BatchSource> prediction_batches();
  // A batch of options.batch_size samples on the device, made without data, for --dummy and
  // measurements.
  virtual DeviceBatch noise() = 0;
  // Notes on the data for users, sentences without full stop. Called after training_batches().
  virtual std::vector<std::string> notes() const { return {}; }
  // The same at the end of a run, about what was found during it. Collective.
  virtual std::vector<std::string> end_notes() { return {}; }
  // How many of TaskEntry::units a sample has, such as the tokens of a sequence.
  virtual double units_per_sample() const { return 1; }

  // --- The network.

  // Draws the initial weights from libtorch's default CPU generator. Called once. The task keeps
  // the model.
  virtual Model& make_model() = 0;
  // Copies weights from other files into the model at the beginning of a new run. Called only on
  // rank 0; all processes then take its weights.
  virtual void load_initial_weights() {}
  // Sentences on what load_initial_weights() chose and left out, for the user.
  virtual std::vector<std::string> weight_notes() const { return {}; }
  virtual WeightRules weight_rules() const { return {}; }
  virtual ParameterSetting parameter_setting(const NamedTensor& /*parameter*/) const { return {}; }
  // How the processes of the task's mesh share the parameters; null: each has all of them.
  // Checkpoints always have whole parameters. A shared network has no buffers, and the task itself
  // combines its gradients (finish_gradients, gradient_norm).
  virtual const ParameterParts* parts() const { return nullptr; }
  // Tensors of the task in a checkpoint, beside the model's, as "task.NAME". They share the task's
  // storage: copying into them restores the state. Rank 0's are written; all processes read them.
  virtual std::vector<NamedTensor> state() const { return {}; }

  // --- Steps.

  // Called before the first batch of `epoch`, or of the rest of it.
  virtual void set_epoch(int64_t /*epoch*/) {}
  // The mean loss of the batch's samples, [] f32, with gradients, in the precision of the run. It
  // may use setting().peers, because all processes call it equally often.
  virtual at::Tensor loss(const DeviceBatch& batch) = 0;
  // The mean weight of a sample in the batch, [] f64: its objects, tokens, or the weight of its
  // class. Undefined: all samples count the same. Otherwise loss() is the sum of the weighted
  // losses divided by the number of samples. The run divides it by the mean weight of all samples
  // of the step, over all batches and processes; by 1 if all weights are 0.
  virtual at::Tensor loss_weight(const DeviceBatch& /*batch*/) { return {}; }
  // Called before each loss() if the run multiplies the loss by `scale`, [1] f32 on the device,
  // before the backward pass (--amp fp16). For a task whose loss() runs backward passes itself.
  virtual void set_loss_scale(const at::Tensor& /*scale*/) {}
  // Called after the backward passes of a step, when gradients are averages over all samples. A
  // task may change them further.
  virtual void finish_gradients() {}
  // Whether the gradients of a step are finite on all processes that compute the network together,
  // so that all skip the same steps. `own`: whether they are finite on this process. Called only
  // with a scaled loss.
  virtual bool are_finite(bool own) { return own; }
  // The norm of all gradients of the network, [] on the device.
  virtual at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters);
  // The forward pass of an evaluation, for --benchmark forward. Returns what it computes last.
  virtual at::Tensor forward(const DeviceBatch& batch) = 0;
  virtual std::unique_ptr<Evaluation> evaluation() = 0;

 protected:
  const TaskSetting& setting() const { return setting_; }
  const TrainOptions& options() const { return setting_.options; }

 private:
  const TaskSetting setting_;
};

}  // namespace ffkit
