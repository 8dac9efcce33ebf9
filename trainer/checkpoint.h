// Checkpoints: the whole state of a training run in one safetensors file.
//
//   tensors   model.<parameter or buffer>, optimizer.momentum.<parameter>, rng.cpu
//   metadata  ffkit_checkpoint: version; options, classes, progress, loader: JSON
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ffkit/loader/loader.h>
#include <ffkit/trainer/train_options.h>

#include "model.h"
#include "safetensors.h"
#include "sgd.h"

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
                     const Model& model, const Sgd& optimizer);

// Reads the info alone. Throws Error(not_found), Error(corrupt), and Error(unsupported) for a newer
// version.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& path);

// Reads everything: the weights into `model` and, where `optimizer` is given, its momentum and the
// state of the default CPU generator. Nothing is changed unless all names, dtypes and shapes fit;
// Error(invalid_argument) names the first tensor that does not.
CheckpointInfo load_checkpoint(const std::filesystem::path& path, Model& model, Sgd* optimizer);

// Whether the metadata is that of a checkpoint, and not of a safetensors file of another kind.
bool is_checkpoint_metadata(const std::map<std::string, std::string>& metadata);
// The parameters and buffers of the model in a checkpoint that was read, under their names there. Throws Error(corrupt) when it has no CRC.
std::vector<NamedTensor> model_tensors(const std::filesystem::path& path, SafeTensors contents);

}  // namespace ffkit
