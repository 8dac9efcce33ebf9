// A Python script beside exported weights: it loads them into the same model of a Python library,
// and writes that as ONNX.
#pragma once

#include <filesystem>

#include <ffkit/trainer/task_registry.h>

namespace ffkit {

// The script's file: the name of `weights` with the ending .py. Throws Error(invalid_argument) if
// it exists.
std::filesystem::path new_export_script(const std::filesystem::path& weights);

// Writes it.
void write_export_script(const std::filesystem::path& script, const std::filesystem::path& weights,
                         const PythonModel& model);

}  // namespace ffkit
