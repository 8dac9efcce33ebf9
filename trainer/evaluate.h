// Validation: how good a model is on a split.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>

#include <ffkit/trainer/task.h>

#include "distributed/mesh.h"

namespace ffkit {

// The files that an evaluation writes beside its metrics; empty: none.
struct PredictionFiles {
  std::filesystem::path results = {}, confusion = {};
  std::FILE* lines = nullptr;  // where the table of the confusion matrix is printed; null: nowhere
};

// Evaluates `model`, which is the task's, over the whole of `source`, of which every process along
// "data" has its share, in evaluation mode, and leaves it in training mode. The result is that of
// all processes; rank 0 also writes the task's results and its confusion matrix, where these are
// not empty. Nothing when
// a process was asked to stop: all leave within a batch. Throws Error(invalid_argument) when there
// is no truth to compare with and `results` is empty.
std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         const RunMesh& mesh, const PredictionFiles& files = {});

}  // namespace ffkit
