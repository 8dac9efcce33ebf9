#include "checkpoint/export_script.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include <ffkit/base/error.h>

#include "base/file/durable_file.h"
#include "base/printable.h"

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
    throw Error(ErrorCode::invalid_argument, "exists; delete it or give another name",
                {.path = script.string(), .subject = ErrorSubject::destination});
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

}  // namespace ffkit
