// Checkpoints: the whole state of a training run in one safetensors file.
//
//   tensors   model.<parameter or buffer>, optimizer.<name in Optimizer::state()>, ema.<parameter or buffer>, rng.cpu
//   metadata  ffkit_checkpoint: version; options, classes, progress, loader: JSON
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/loader/loader.h>
#include <ffkit/trainer/train_options.h>

#include "model.h"
#include "model_average.h"
#include "optimizer.h"

namespace ffkit {

// What a checkpoint says beside its tensors.
struct CheckpointInfo {
  TrainOptions options;              // without work_dir
  std::vector<std::string> classes;  // of the data set, by label
  int64_t epochs_done = 0;
  int64_t steps_done = 0;  // over all epochs: the position in the learning rate schedule
  double best_top1 = 0;
  int64_t best_epoch = 0;  // counted from 1; 0: none yet
  LoaderState loader;      // of the training loader
};

// Writes `path` atomically. Takes the state of libtorch's default CPU generator along.
void save_checkpoint(const std::filesystem::path& path, const CheckpointInfo& info,
                     const Model& model, const Optimizer& optimizer,
                     const ModelAverage* average = nullptr);

// Reads the info alone. Throws Error(not_found), Error(corrupt), and Error(unsupported) for a newer
// version.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& path);

// Reads everything: the weights into `model` and, where `optimizer` is given, its state and that
// of the default CPU generator. Without an optimizer the model gets the averaged weights, where the run kept an average: those that were validated.
// `average` gets its own back; of a run that kept none it becomes a copy of the model. Nothing is changed unless all names, dtypes and
// shapes fit; Error(invalid_argument) names the first tensor that does not.
CheckpointInfo load_checkpoint(const std::filesystem::path& path, Model& model,
                               Optimizer* optimizer, ModelAverage* average = nullptr);

}  // namespace ffkit
