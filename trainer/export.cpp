#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/trainer.h>

#include "base/file/durable_file.h"
#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/export_script.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "device/device.h"
#include "model/parameters.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// For a script beside the weights of `file`. Throws where there is none.
PythonModel python_model(const fs::path& file, bool is_alone, const CheckpointInfo& info) {
  if (is_alone) {
    throw error_at(file, ErrorCode::unsupported,
                   "holds weights alone; a script is written from the options of a run: give its "
                   "work folder or checkpoint");
  }
  const TaskEntry& task = TaskRegistry::instance().find(info.options.task_name());
  if (!task.python_model) {
    throw error_at(file, ErrorCode::unsupported,
                   "no library of Python has the network of the task {}, so there is no script to "
                   "load its weights; leave --script out",
                   task.name);
  }
  return task.python_model(info.options, info.facts);
}

// Gives the tensors of `file` the names that are asked for, and returns the config.json for them.
std::string use_names(const fs::path& file, bool is_alone, const CheckpointInfo& info,
                      const ExportOptions& options, std::vector<NamedTensor>& tensors) {
  if (options.names.empty()) return {};
  if (is_alone) {
    throw error_at(file, ErrorCode::unsupported,
                   "holds weights alone; names of another library are given to those of a run: "
                   "give its work folder or checkpoint");
  }
  const TaskEntry& task = TaskRegistry::instance().find(info.options.task_name());
  if (!task.use_names_of) {
    throw error_at(file, ErrorCode::unsupported,
                   "the network of the task {} has names in one library alone; leave --names out",
                   task.name);
  }
  return task.use_names_of(info.options, info.facts, options.names, tensors);
}

}  // namespace

void export_weights(const fs::path& from, const fs::path& to, const ExportOptions& options) {
  with_torch_errors([&] {
    const fs::path file = resolve_checkpoint(from);
    const bool is_alone = holds_weights_alone(file);
    const CheckpointInfo info = is_alone ? CheckpointInfo() : read_checkpoint_info(file);
    const std::optional<PythonModel> python =
        options.with_script ? std::optional(python_model(file, is_alone, info)) : std::nullopt;
    const fs::path script = python ? new_export_script(to) : fs::path();
    Weights weights = read_weights(file, options.weights_key);
    const std::string wrong = first_not_finite(weights.tensors, NotFinite::nan_alone);
    if (!wrong.empty()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "its tensor '{}' holds nan, so that it computes nothing", wrong);
    }
    if (std::string note = unread_note(weights); !note.empty())
      weights.notes.push_back(std::move(note));
    const std::string config = use_names(file, is_alone, info, options, weights.tensors);
    const bool is_folder =
        to.filename() == "model.safetensors" || to.filename() == "pytorch_model.bin";
    const fs::path config_file = to.parent_path() / "config.json";
    if (!config.empty() && is_folder && fs::exists(config_file)) {
      throw error_at(config_file, ErrorCode::invalid_argument,
                     "exists, and is not replaced by that of the exported weights; export into an "
                     "empty folder");
    }
    write_weights(weights, to);
    if (!config.empty() && is_folder) {
      write_durably(config_file, config);
    }
    if (options.lines != nullptr) {
      for (const std::string& note : notes_of(file, weights.notes))
        fmt::print(options.lines, "{}\n", note);
    }
    if (python) write_export_script(script, to, *python);
    if (is_alone) return;
    const TaskEntry& task = TaskRegistry::instance().find(info.options.task_name());
    if (task.write_beside) task.write_beside(info.options, info.facts, to);
  });
}

}  // namespace ffkit
