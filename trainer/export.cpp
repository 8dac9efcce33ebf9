#include "export.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/trainer/trainer.h>

#include "base/file/file.h"
#include "base/json_text.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "device/device.h"
#include "model/parameters.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// <weights>, <script>, <onnx>: names of the files, <'weights'>, <'onnx'>: as texts of Python,
// <packages>: what to install, <model>: the task's part.
constexpr char kScript[] = R"(#!/usr/bin/env python3
"""Loads <weights>, weights that fftrain exported, and writes them as ONNX.

    pip install <packages> onnx onnxscript
    python <script> [<onnx>]

The first dimension of what goes in and comes out may have any size. Names that
onnxruntime wants: see INPUTS and OUTPUTS. `import` this file for load() alone.
"""
import pathlib
import sys

import torch
<model>

def load():
    """The model with the weights, for inference."""
    path = pathlib.Path(__file__).with_name(<'weights'>)
    if path.suffix == '.safetensors':
        import safetensors.torch
        weights = safetensors.torch.load_file(path)
    else:
        weights = torch.load(path, weights_only=True)
    return make_model(weights).eval()

def main():
    here = pathlib.Path(__file__)
    output = sys.argv[1] if len(sys.argv) > 1 else here.with_name(<'onnx'>)
    batch = torch.export.Dim('batch')
    program = torch.onnx.export(
        load(), tuple(INPUTS.values()), dynamo=True,
        input_names=list(INPUTS), output_names=OUTPUTS,
        dynamic_shapes=tuple({0: batch} for _ in INPUTS), verbose=False)
    program.save(output)
    print(output)

if __name__ == '__main__':
    main()
)";

// As Python writes it: 'a'.
std::string python_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

// Inside of a text in three quotes.
std::string quoted_words(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// kScript with its names in angle brackets replaced; what stands in them is not looked at again.
std::string filled_in(const std::map<std::string, std::string>& values) {
  const std::string script = kScript;
  std::string out;
  for (size_t at = 0; at < script.size();) {
    const size_t end = script[at] == '<' ? script.find('>', at) : std::string::npos;
    const auto found =
        end == std::string::npos ? values.end() : values.find(script.substr(at + 1, end - at - 1));
    out += found == values.end() ? std::string(1, script[at]) : found->second;
    at = found == values.end() ? at + 1 : end + 1;
  }
  return out;
}

}  // namespace

fs::path new_export_script(const fs::path& weights) {
  fs::path script = fs::path(weights).replace_extension(".py");
  if (fs::exists(fs::symlink_status(script))) {
    throw error_at(script, ErrorCode::invalid_argument,
                   "this file exists already; delete the file, or give another name")
        .with_subject(ErrorSubject::destination);
  }
  return script;
}

void write_export_script(const fs::path& script, const fs::path& weights,
                         const PythonModel& model) {
  const std::string onnx = fs::path(weights).replace_extension(".onnx").filename().string();
  const bool is_safetensors = weights.extension() == ".safetensors";
  const std::string name = weights.filename().string();
  write_durably(script, filled_in({
                            {"weights", quoted_words(name)},
                            {"'weights'", python_text(name)},
                            {"script", quoted_words(script.filename().string())},
                            {"onnx", quoted_words(onnx)},
                            {"'onnx'", python_text(onnx)},
                            {"packages", model.packages + (is_safetensors ? " safetensors" : "")},
                            {"model", model.code},
                        }));
}

namespace {

// Throws where `file` holds weights alone, which do not say what is asked for.
const TaskEntry& task_of_run(const fs::path& file, bool is_alone, const CheckpointInfo& info,
                             const char* asked_for) {
  if (!is_alone) return TaskRegistry::instance().find(info.options.task_name());
  throw error_at(file, ErrorCode::unsupported,
                 "has only weights, but {} of a run; give its folder or checkpoint", asked_for);
}

// For a script beside the weights of `file`. Throws where there is none.
PythonModel python_model(const fs::path& file, bool is_alone, const CheckpointInfo& info) {
  const TaskEntry& task = task_of_run(file, is_alone, info, "a script needs the options");
  if (!task.python_model) {
    throw error_at(file, ErrorCode::unsupported,
                   "no library of Python has the network of the task {}, so there is no script to "
                   "load its weights; leave {} out",
                   task.name, option_name("script"));
  }
  return task.python_model(info.options, info.facts);
}

// Gives the tensors of `file` the names that are asked for, and returns the files that belong
// beside them.
TaskFacts use_names(const fs::path& file, bool is_alone, const CheckpointInfo& info,
                    const ExportOptions& options, std::vector<NamedTensor>& tensors) {
  if (options.names.empty() && is_alone) return {};
  const TaskEntry& task =
      task_of_run(file, is_alone, info, "names of another library need the options");
  if (options.names.empty())
    return task.files_beside ? task.files_beside(info.options, info.facts) : TaskFacts();
  if (!task.use_names_of) {
    throw error_at(file, ErrorCode::unsupported,
                   "the network of the task {} has names in only one library; leave {} out",
                   task.name, option_name("names"));
  }
  return task.use_names_of(info.options, info.facts, options.names, tensors);
}

}  // namespace

void export_weights(const fs::path& from, const fs::path& to, const ExportOptions& options) {
  with_torch_errors([&] {
    require_weights_name(to);
    const Say say = say_on(options.lines);
    const ChosenCheckpoint chosen = choose_checkpoint(from, say);
    const fs::path& file = chosen.path;
    const bool is_alone = holds_weights_alone(file);
    const CheckpointInfo info = is_alone ? CheckpointInfo() : read_checkpoint_info(file);
    const std::optional<PythonModel> python =
        options.with_script ? std::optional(python_model(file, is_alone, info)) : std::nullopt;
    const fs::path script = python ? new_export_script(to) : fs::path();
    Weights weights = read_weights(file, options.weights_key);
    const std::string wrong = first_not_finite(weights.tensors, NotFinite::nan_alone);
    if (!wrong.empty()) {
      throw error_at(file, ErrorCode::invalid_argument,
                     "the tensor '{}' contains nan; give weights without nan", wrong);
    }
    if (std::string note = unread_note(weights); !note.empty())
      weights.notes.push_back(std::move(note));
    TaskFacts beside = use_names(file, is_alone, info, options, weights.tensors);
    if (to.filename() != "model.safetensors" && to.filename() != "pytorch_model.bin")
      beside.clear();
    for (const auto& [name, text] : beside) {
      if (!fs::exists(to.parent_path() / name)) continue;
      throw error_at(
          to.parent_path() / name, ErrorCode::invalid_argument,
          "exists, but the export would write this file, too; export into an empty folder");
    }
    if (is_alone) {
      // What ffkit wrote goes on with the weights; other programs' words are theirs.
      weights.description = read_description(file);
      if (!weights.description.contains("pictures")) weights.description.clear();
    } else {
      const TaskEntry& task = TaskRegistry::instance().find(info.options.task_name());
      if (task.describe_weights)
        weights.description = task.describe_weights(info.options, info.facts);
    }
    write_weights(weights, to);
    if (const fs::path description = description_beside(to);
        !description.empty() && !weights.description.empty()) {
      nlohmann::ordered_json json;
      for (const auto& [name, text] : weights.description)
        json[name] = nlohmann::ordered_json::parse(text);
      write_durably(description, json_text(json) + "\n");
    }
    for (const auto& [name, text] : beside) write_durably(to.parent_path() / name, text);
    if (options.lines != nullptr) {
      for (const std::string& note : notes_of(file, weights.notes))
        fmt::print(options.lines, "{}\n", note);
    }
    chosen.put_damaged_aside(say);
    if (python) write_export_script(script, to, *python);
  });
}

}  // namespace ffkit
