// TaskRegistry: all tasks by name. A file trainer/tasks/<name>/<name>_task.cpp has a task and the
// function
//
//   void register_<name>_task(TaskRegistry& registry);
//
// The build writes the call from the name of the file, so a new task of ffkit needs no other
// change. A program adds its own task before it trains:
//
//   ffkit::TaskRegistry::instance().add({.name = "depth", ...});
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/task_options.h>

namespace ffkit {

class Task;
struct NamedTensor;
struct TrainOptions;
struct TaskSetting;

// A dimension of a mesh of processes, like rows or columns.
struct MeshDimension {
  std::string name;
  int size = 1;  // >= 1
};

// The network of a run in Python, for a script that loads its exported weights.
struct PythonModel {
  std::string packages;  // that it needs, for pip: "torch torchvision"
  // Defines make_model(weights), a torch.nn.Module that has the tensors of the dict `weights`;
  // INPUTS, a dict of names and example tensors of a batch of 2, in the order of forward(); and
  // OUTPUTS, a list of names.
  std::string code;
};

// The description of a task before a run.
struct TaskEntry {
  std::string name;                 // --task NAME
  std::string summary;              // a line for --help: what it trains, and on which data
  std::string samples = "samples";  // what people call its samples: "pictures"
  // The unit of its speed and of the size of splits: "images", "tokens". Also the key of the size
  // in metrics.jsonl; the key of the speed is <units>_per_second.
  std::string units = "samples";
  std::vector<MetricInfo> metrics;  // of a validation
  std::string best;                 // the metric that says which checkpoint is the best
  bool is_lower_better = false;     // whether lower values of that metric are better
  // The names of Task::facts(), which a checkpoint has in its metadata.
  std::vector<std::string> facts = {};
  // For --help: a description of the results of an evaluation (Evaluation::write_results). Empty:
  // there are none.
  std::string results = {};
  // Possible endings of such files, checked before an evaluation; empty: any.
  std::vector<std::string> result_endings = {};
  // Likewise of Evaluation::write_confusion; empty: there is no confusion matrix.
  std::vector<std::string> confusion_endings = {};
  // For a task without results: words that name the program that predicts with its weights; may be
  // empty.
  std::string predicted_by = {};
  // The reason if a data set with this schema does not fit the task, as words after the data set's
  // path. Empty: it fits.
  std::function<std::string(const Schema& schema)> misfit;
  std::function<std::unique_ptr<Task>(TaskSetting setting)> make;
  // The dimensions in which processes compute a network together, from the options of the run.
  // Empty: each process has the whole network. The processes are a mesh, "data" x these dimensions;
  // neighbours in the last one have neighbouring ranks. Along these dimensions, the task must keep
  // parameters, buffers, Task::state(), gradients and losses equal (sum_of_peers,
  // with_summed_gradient). Along "data", epochs are shared and samples averaged.
  std::function<std::vector<MeshDimension>(const TrainOptions& options)> mesh = {};
  // The files for other programs, by name, that belong beside weights which are exported as
  // model.safetensors or pytorch_model.bin, such as config.json. May be empty.
  std::function<TaskFacts(const TrainOptions& options, const TaskFacts& facts)> files_beside = {};
  // Sets open options from the `weights` of a run or an evaluation, for instance from a file beside
  // them that describes the network. Called only on rank 0; all processes then take its options of
  // the task. Throws Error(invalid_argument) if the options contradict the weights. May be empty.
  std::function<void(TrainOptions& options, const std::filesystem::path& weights)> take_settings =
      {};
  // Gives exported tensors the names that `library` ("timm", "transformers") uses for the network.
  // Returns the files that belong beside them, by name, such as config.json. Throws
  // Error(unsupported) if the library lacks the network. Empty: only one library has the network.
  std::function<TaskFacts(const TrainOptions& options, const TaskFacts& facts,
                          const std::string& library, std::vector<NamedTensor>& tensors)>
      use_names_of = {};
  // Further information for exported weights, names and JSON: classes, the preparation of pictures.
  // In a safetensors file it is metadata, otherwise FILE.json beside it. May be empty.
  std::function<TaskFacts(const TrainOptions& options, const TaskFacts& facts)> describe_weights =
      {};
  // The network of a run in Python. Throws Error(unsupported) if no library has this one. Empty: no
  // library has any.
  std::function<PythonModel(const TrainOptions& options, const TaskFacts& facts)> python_model = {};
  // The task's options with their defaults.
  std::function<std::unique_ptr<TaskOptions>()> make_options = [] {
    return std::make_unique<NoTaskOptions>();
  };

  // The metric that `best` names.
  const MetricInfo& best_metric() const;
  bool is_better(double value, double than) const {
    return is_lower_better ? value < than : value > than;
  }
};

class TaskRegistry {
 public:
  // Made at the first call, with every task of trainer/tasks/. Call add() at the beginning of a
  // program, while it has one thread.
  static TaskRegistry& instance();

  // Throws Error(invalid_argument) if the name is taken, and if `best` is not one of the metrics.
  void add(TaskEntry entry);
  // Throws Error(invalid_argument) that lists all names.
  const TaskEntry& find(std::string_view name) const;
  // The only task that can train on data with `schema`. Throws Error(invalid_argument) if none or
  // several can. `path` is the data set's.
  const TaskEntry& find_for(const Schema& schema, const std::string& path) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::unique_ptr<const TaskEntry>> entries_;  // references to them stay valid
};

}  // namespace ffkit
