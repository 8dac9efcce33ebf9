// Checkpoints: the whole state of a training run in one safetensors file, or, where several
// processes share it, in parts (checkpoint_parts.h). The functions read both.
//
//   tensors   model.<parameter or buffer>, optimizer.<name>, ema.<parameter or buffer>,
//             scaler.<name>, task.<name>
//   metadata  ffkit_checkpoint: version; options, progress, loader and the facts of the task: JSON
//
// There is no state of a random generator: what a model draws is keyed by seed, step and rank
// (TrainingStep::begin).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ffkit/loader/loader.h>
#include <ffkit/trainer/model.h>
#include <ffkit/trainer/task_options.h>
#include <ffkit/trainer/train_options.h>

#include "files/safetensors.h"

namespace ffkit {

// What a checkpoint has beside its tensors.
struct CheckpointInfo {
  TrainOptions options;  // without work_dir
  TaskFacts facts;       // of the task that the options name
  int64_t epochs_done = 0;
  int64_t steps_done = 0;         // over all epochs: the position in the learning rate schedule
  int64_t epoch_steps = 0;        // of the epoch that is not finished
  double epoch_loss_sum = 0;      // over these steps
  int64_t global_batch_size = 0;  // samples a step of all processes
  double best = 0;                // of the task's best metric
  int64_t best_epoch = 0;         // counted from 1; 0: none yet
  LoaderState loader;             // of the training loader
};

// Whether the last validations of the run, options.patience of them, were no better than the best
// one.
bool is_out_of_patience(const CheckpointInfo& stored, const TrainOptions& options);
// Whether the run of a checkpoint has nothing left to do under `options`.
bool is_finished(const CheckpointInfo& stored, const TrainOptions& options);

// The names of a model's tensors begin with these, and those of their average.
inline constexpr char kModelPrefix[] = "model.";
inline constexpr char kAveragePrefix[] = "ema.";
// The names of an optimiser's tensors begin with this.
inline constexpr char kOptimizerPrefix[] = "optimizer.";

// `tensors` with `prefix` before their names, at the end of `out`.
void append_with_prefix(const char* prefix, const std::vector<NamedTensor>& tensors,
                        std::vector<NamedTensor>& out);
// The weights of a model: what every checkpoint has, and what evaluation needs of it.
std::vector<NamedTensor> model_state(const Model& model, const char* prefix = kModelPrefix);
// The tensors of a model under the names of what was validated: the averaged weights of a run that
// kept an average.
std::vector<NamedTensor> evaluated_state(const Model& model, const TrainOptions& options);

// A copy in memory, on the CPU: what is trained may go on while it is written by
// write_safetensors().
SafeTensors snapshot(const CheckpointInfo& info, const std::vector<NamedTensor>& state);

// The info as text and back, to be sent to other processes.
std::string info_to_text(const CheckpointInfo& info);
CheckpointInfo info_from_text(const std::string& text);

// Whether who read a checkpoint of a run found it damaged.
bool is_damage(const Error& error);

// Reads the info alone. Throws Error(invalid_argument) for a file of other tensors,
// Error(not_found), Error(corrupt), and Error(unsupported) for a newer version.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& path);

// Reads the info, and the values of `state` by name; what else the file holds is left there.
// Nothing is changed unless all names, dtypes and shapes fit; Error(invalid_argument) names the
// first tensor that does not. Error(corrupt) for a damaged file.
CheckpointInfo load_checkpoint(const std::filesystem::path& path,
                               const std::vector<NamedTensor>& state);

// Whether the metadata is that of a checkpoint, and not of a safetensors file of another kind.
bool is_checkpoint_metadata(const std::map<std::string, std::string>& metadata);
// The parameters and buffers of the model in a checkpoint, whole, under their names there: the
// averaged ones of a run that kept an average, which are those that were validated. `file`: its
// metadata_file(). Throws Error(corrupt) for a damaged one and one without a CRC.
std::vector<NamedTensor> model_tensors(const std::filesystem::path& path,
                                       const SafeTensorsReader& file);
// Reads all of it, and throws as read_checkpoint_info(), and Error(corrupt) when it is damaged, or,
// unless it `may_have_nan`, when a tensor holds NaN.
void check_checkpoint(const std::filesystem::path& path, bool may_have_nan = false);

}  // namespace ffkit
