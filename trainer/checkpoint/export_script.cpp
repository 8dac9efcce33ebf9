#include "checkpoint/export_script.h"

#include <fmt/format.h>

#include <string>

#include <ffkit/format/error.h>

#include "format/file/durable_file.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// {0}: name of the weights, {1}: of the script, {2}: of the ONNX file, {3}: what to install, {4}:
// the task's part.
constexpr char kScript[] = R"(#!/usr/bin/env python3
"""Loads {0}, weights that fftrain exported, and writes them as ONNX.

    pip install {3} onnx onnxscript
    python {1} [{2}]

The first dimension of what goes in and comes out may have any size. Names that
onnxruntime wants: see INPUTS and OUTPUTS. `import` this file for load() alone.
"""
import pathlib
import sys

import torch
{4}

def load():
    """The model with the weights, for inference."""
    path = pathlib.Path(__file__).with_name({0!r})
    if path.suffix == '.safetensors':
        import safetensors.torch
        weights = safetensors.torch.load_file(path)
    else:
        weights = torch.load(path, weights_only=True)
    return make_model(weights).eval()


def main():
    here = pathlib.Path(__file__)
    output = sys.argv[1] if len(sys.argv) > 1 else here.with_name({2!r})
    batch = torch.export.Dim('batch')
    program = torch.onnx.export(
        load(), tuple(INPUTS.values()), dynamo=True,
        input_names=list(INPUTS), output_names=OUTPUTS,
        dynamic_shapes=tuple({{0: batch}} for _ in INPUTS), verbose=False)
    program.save(output)
    print(output)


if __name__ == '__main__':
    main()
)";

// As Python writes it: 'a'.
std::string python_text(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

}  // namespace

fs::path new_export_script(const fs::path& weights) {
  fs::path script = fs::path(weights).replace_extension(".py");
  if (fs::exists(fs::symlink_status(script))) {
    throw Error(ErrorCode::invalid_argument, "exists; delete it or give another name",
                {.path = script.string()});
  }
  return script;
}

void write_export_script(const fs::path& script, const fs::path& weights,
                         const PythonModel& model) {
  const std::string onnx = fs::path(weights).replace_extension(".onnx").filename().string();
  const bool is_safetensors = weights.extension() == ".safetensors";
  std::string text = kScript;
  replace_all(text, "{0!r}", python_text(weights.filename().string()));
  replace_all(text, "{2!r}", python_text(onnx));
  replace_all(text, "{0}", weights.filename().string());
  replace_all(text, "{1}", script.filename().string());
  replace_all(text, "{2}", onnx);
  replace_all(text, "{3}", model.packages + (is_safetensors ? " safetensors" : ""));
  replace_all(text, "{{", "{");
  replace_all(text, "}}", "}");
  replace_all(text, "{4}", model.code);
  write_durably(script, text);
}

}  // namespace ffkit
