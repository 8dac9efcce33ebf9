// TaskRegistry: the tasks there are, by name. A file trainer/tasks/<name>/<name>_task.cpp holds one
// and the function
//
//   void register_<name>_task(TaskRegistry& registry);
//
// whose call is generated from the name of the file: a new task of the library needs no other
// change. A program adds its own before it trains:
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
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/task_facts.h>
#include <ffkit/trainer/task_options.h>

namespace ffkit {

class Task;
struct TrainOptions;
struct TaskSetting;

// A dimension of a mesh of processes: rows, columns.
struct MeshDimension {
  std::string name;
  int size = 1;  // >= 1
};

// The network of a run in Python, for a script that loads its exported weights.
struct PythonModel {
  std::string packages;  // that it needs, for pip: "torch torchvision"
  // Defines make_model(weights), which gives a torch.nn.Module that has the tensors of the dict;
  // INPUTS, a dict of names and example tensors of a batch of 2, in the order of its forward(); and
  // OUTPUTS, a list of names.
  std::string code;
};

// What is known of a task before there is a run.
struct TaskEntry {
  std::string name;                 // --task NAME
  std::string summary;              // a line for --help: what it trains on what
  std::string samples = "samples";  // what people call its samples: "pictures"
  // What its speed and the size of its splits are counted in: "images", "tokens". Also the key of
  // the size in metrics.jsonl, and <units>_per_second that of the speed.
  std::string units = "samples";
  std::vector<MetricInfo> metrics;  // of a validation
  std::string best;                 // which of them says what the best checkpoint is
  bool is_lower_better = false;     // of that one
  // Names of what a checkpoint holds of the task beside its options (Task::facts()), each a part of
  // the checkpoint's metadata.
  std::vector<std::string> facts = {};
  // What the results are that an evaluation can write (Evaluation::write_results), for --help;
  // empty: none.
  std::string results = {};
  bool has_confusion = false;  // Evaluation::write_confusion
  // Why a data set of this schema is none for the task, as a sentence that follows the data set's
  // path; empty: it fits.
  std::function<std::string(const Schema& schema)> misfit;
  std::function<std::unique_ptr<Task>(TaskSetting setting)> make;
  // The dimensions of processes that compute a network together, from the options of the run;
  // empty: each process has the whole network. The processes are a mesh of "data" x these;
  // neighbours in the last one have neighbouring ranks. Parameters, buffers and Task::state() are
  // the same along these dimensions, and so are gradients and losses: the task sees to it
  // (sum_of_peers, with_summed_gradient). Averages over samples, and the shares of an epoch, are
  // along "data" alone.
  std::function<std::vector<MeshDimension>(const TrainOptions& options)> mesh = {};
  // Writes beside the weights of a checkpoint that were exported to `weights` what other programs
  // want with them; it may look at the name. Throws Error(invalid_argument) rather than replace a
  // file. Empty: nothing.
  std::function<void(const TrainOptions& options, const TaskFacts& facts,
                     const std::filesystem::path& weights)>
      write_beside = {};
  // Takes from `weights`, which a run begins with or which are evaluated by themselves, what the
  // options leave open, such as what a file beside them says of their network. Rank 0 calls it,
  // whose options of the task all processes then take. Throws Error(invalid_argument) where the
  // options contradict it. Empty: nothing.
  std::function<void(TrainOptions& options, const std::filesystem::path& weights)> take_settings =
      {};
  // Gives exported tensors the names that `library` ("timm", "transformers") has for the same
  // network, and returns the config.json that belongs beside them, empty for none. Throws
  // Error(unsupported) where the library lacks it. Empty: the tensors have their names in one
  // library alone.
  std::function<std::string(const TrainOptions& options, const TaskFacts& facts,
                            const std::string& library, std::vector<NamedTensor>& tensors)>
      use_names_of = {};
  // The network of a run in Python. Throws Error(unsupported) where a library lacks it. Empty: no
  // library has it.
  std::function<PythonModel(const TrainOptions& options, const TaskFacts& facts)> python_model = {};
  // Its own options with their defaults.
  std::function<std::unique_ptr<TaskOptions>()> make_options = [] {
    return std::make_unique<NoTaskOptions>();
  };

  // Of `best`.
  const MetricInfo& best_metric() const;
  bool is_better(double value, double than) const {
    return is_lower_better ? value < than : value > than;
  }
};

class TaskRegistry {
 public:
  // With every task of trainer/tasks/, made at the first call. add() is for the beginning of a
  // program, when it has one thread.
  static TaskRegistry& instance();

  // Throws Error(invalid_argument) when there is one of this name, and when `best` is none of its
  // metrics.
  void add(TaskEntry entry);
  // Throws Error(invalid_argument) that lists the names there are.
  const TaskEntry& find(std::string_view name) const;
  // The one task that a data set of `schema` is for. Throws Error(invalid_argument) when there is
  // none, or several; `path` is the data set's.
  const TaskEntry& find_for(const Schema& schema, const std::string& path) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::unique_ptr<const TaskEntry>> entries_;  // references to them stay valid
};

}  // namespace ffkit
