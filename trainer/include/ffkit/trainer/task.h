// Task: what is trained: its data, its network, its loss and its metrics. The run, checkpoints,
// reports and processes know no more of it than this. trainer/tasks/README.md says in which order
// the functions are called.
//
// A task belongs to one run on one process and may keep what it likes between calls: a network,
// data sets, the state of a window. Not thread-safe. All processes make the same calls in the same
// order.
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

#include <ffkit/trainer/batch_source.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/peers.h>
#include <ffkit/trainer/task_facts.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Where a task runs.
struct TaskSetting {
  // resolved: batch_size, lr and global_batch_size as this number of processes has them
  TrainOptions options;
  // Among the processes that share the samples: all of the run, but for a task with a mesh
  // (TaskEntry::mesh). Those that differ in another dimension of it alone have the same rank here,
  // and the same batches.
  ProcessPlace place;
  c10::Device device = c10::kCPU;
  // Those that share the samples. Never null; they live as long as the run. They may be asked in
  // loss(), since all processes have the same number of training batches.
  std::shared_ptr<Peers> peers = std::make_shared<Peers>();
  // Those along each dimension of the task's mesh, by its name: they have the same batches.
  std::map<std::string, std::shared_ptr<Peers>, std::less<>> peers_along = {};
};

// One evaluation of a split.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  // Called before the first batch where write_results() or write_confusion() follow.
  virtual void keep_predictions() {}
  // A batch of this process's share. The model is in evaluation mode, without gradients, in the
  // precision of the run.
  virtual void add(const DeviceBatch& batch) = 0;
  // The metrics of TaskEntry::metrics over all processes; collective. A process may have had no
  // batch. Without metrics (EvalResult::no_metrics) where there is no truth to compare with: then
  // the results are all that is wanted, and without them the evaluation fails.
  virtual EvalResult finish(Peers& peers) = 0;
  // Writes the results of finish() to a file, on rank 0 alone, for tasks with TaskEntry::results.
  // Throws Error(io).
  virtual void write_results(const std::filesystem::path& file);
  // Writes which classes were taken for which others, likewise, for tasks with
  // TaskEntry::has_confusion. Throws Error(invalid_argument), Error(io). A table of it for people.
  virtual std::string write_confusion(const std::filesystem::path& file);
};

// What a process has of a tensor that several share: the indices of `runs` along `dimension`, one
// run behind the other, and all indices along the other dimensions.
struct TensorCut {
  struct Run {
    int64_t begin = 0, count = 0;
  };
  int64_t dimension = 0;
  std::vector<Run> runs = {};  // empty: all of the tensor
};
// Of the whole tensor; a view of it where there is one run at most.
at::Tensor part_of(const at::Tensor& whole, const TensorCut& cut);

// How the processes along the dimensions of a task's mesh (TaskEntry::mesh) share the parameters of
// one network. They are ranked among each other as in the mesh: the last dimension's neighbours
// have neighbouring ranks. Pure functions, the same on all processes.
class ParameterParts {
 public:
  virtual ~ParameterParts() = default;
  // All parameters of the whole network, in a fixed order.
  virtual std::vector<std::string> names() const = 0;
  virtual std::vector<int64_t> whole_shape(const std::string& name) const = 0;
  // The ranks whose parts make up the whole, each number of it once. Others may have the same parts
  // once more.
  virtual std::vector<int> holders(const std::string& name) const = 0;
  // What `rank` has, if it has any of it.
  virtual TensorCut cut(const std::string& name, int rank) const = 0;
};

class Task {
 public:
  explicit Task(TaskSetting setting) : setting_(std::move(setting)) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // --- What it trains on. First of all one of open(), open_noise() and set_facts().

  // Opens the data that training reads, and learns the facts from it. Throws Error(not_found)
  // without it, Error(invalid_argument) when it is none for this task.
  virtual void open() = 0;
  // Instead: facts for noise(), without any data.
  virtual void open_noise() = 0;
  // Of what open() opened; processes of one run must have the same. A run continues on data with
  // the same one alone.
  virtual std::string fingerprint() const = 0;
  virtual TaskFacts facts() const { return {}; }
  // Takes over the facts of a checkpoint. Throws Error(corrupt) when they are not what facts()
  // gives.
  virtual void set_facts(const TaskFacts& facts);
  // Why a run with these options and facts cannot go on as this one; a sentence after the
  // checkpoint's path; empty: it can.
  virtual std::string misfit(const TrainOptions& stored, const TaskFacts& facts) const;
  // The facts of weights that came without a checkpoint. Throws Error(invalid_argument) when they
  // do not fit the data. `file`: theirs.
  virtual TaskFacts facts_of_weights(const std::vector<NamedTensor>& weights,
                                     const std::filesystem::path& file);

  // A new source for the training batches of `epoch`, counted from 0: each holds options.batch_size
  // samples.
  virtual std::unique_ptr<BatchSource> training_batches(int64_t epoch) = 0;
  // Whether the source that was made for epoch `other` also gives the batches of `epoch`.
  virtual bool shares_source(int64_t /*epoch*/, int64_t /*other*/) const { return true; }
  // Every sample of what is validated on, once. Throws Error(not_found) without it.
  virtual std::unique_ptr<BatchSource> validation_batches() = 0;
  // What is to be predicted, of options.data, whether or not it has labels, in order, each sample
  // once: a data set, or what the task reads without a conversion. Throws Error(unsupported) where
  // the task predicts nothing.
  virtual std::unique_ptr<BatchSource> prediction_batches();
  // A batch of options.batch_size samples on the device that needs no data: for --dummy and
  // measurements.
  virtual DeviceBatch noise() = 0;
  // What people should know of the data, a sentence each without its full stop; after
  // training_batches().
  virtual std::vector<std::string> notes() const { return {}; }
  // The same at the end of a run, of what was found on the way. Collective.
  virtual std::vector<std::string> end_notes() { return {}; }
  // How many of TaskEntry::units a sample is: the tokens of a sequence.
  virtual double units_per_sample() const { return 1; }

  // --- The network.

  // Draws the initial weights from libtorch's default CPU generator. Called once; the task keeps
  // the model.
  virtual Model& make_model() = 0;
  // Copies weights from other files into the model as it was drawn, at the beginning of a run that
  // does not continue another; on rank 0 alone, whose weights all processes then take.
  virtual void load_initial_weights() {}
  // Sentences on what load_initial_weights() chose and left out, for the user.
  virtual std::vector<std::string> weight_notes() const { return {}; }
  virtual WeightRules weight_rules() const { return {}; }
  virtual ParameterSetting parameter_setting(const NamedTensor& /*parameter*/) const { return {}; }
  // How the parameters are divided among the processes of the task's mesh; null: each has all of
  // them. Checkpoints hold whole ones either way. Gradients of a divided network are its own
  // processes' (finish_gradients, gradient_norm), and it has no buffers.
  virtual const ParameterParts* parts() const { return nullptr; }
  // Tensors of the task that a checkpoint holds beside the model's, as "task.NAME"; they share
  // their storage: copying into them restores the state. Rank 0's are written, and all processes
  // read them.
  virtual std::vector<NamedTensor> state() const { return {}; }

  // --- Steps.

  // Before the first batch of `epoch`, and of what is left of one.
  virtual void start_epoch(int64_t /*epoch*/) {}
  // The mean loss of the batch's samples, [] f32, with gradients, in the precision of the run.
  // Called by all processes as often, so it may ask setting().peers.
  virtual at::Tensor loss(const DeviceBatch& batch) = 0;
  // Before each loss() where the run multiplies the loss before its backward pass (--amp fp16): by
  // what, [1] f32 on the device. For a task whose loss() runs backward passes itself.
  virtual void set_loss_scale(const at::Tensor& /*scale*/) {}
  // After the backward passes of a step, when gradients are averages over all samples: what they
  // want beyond that.
  virtual void finish_gradients() {}
  // Whether the gradients of a step are finite on all processes that compute the network together,
  // from whether this one's are: all leave the same steps out. With a scaled loss alone.
  virtual bool are_finite(bool own) { return own; }
  // The norm of all gradients of the network, [] on the device.
  virtual at::Tensor gradient_norm(const std::vector<NamedTensor>& parameters);
  // The forward pass of evaluation alone, for --benchmark forward: what it computes last.
  virtual at::Tensor forward(const DeviceBatch& batch) = 0;
  virtual std::unique_ptr<Evaluation> evaluation() = 0;

 protected:
  const TaskSetting& setting() const { return setting_; }
  const TrainOptions& options() const { return setting_.options; }

 private:
  const TaskSetting setting_;
};

}  // namespace ffkit
