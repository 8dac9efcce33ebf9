// The options of a run: as its weights and its checkpoint want them, in config.toml, and the same
// on all of its processes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>
#include <ffkit/trainer/trainer.h>

#include "checkpoint/checkpoint.h"
#include "distributed/communicator.h"

namespace ffkit {

// `options` with what the task takes from the weights that a run begins with or evaluates.
// Collective. Only rank 0 needs to see the weights.
TrainOptions with_settings_of(const std::filesystem::path& weights, TrainOptions options,
                              Communicator& communicator);

// Throws Error(invalid_argument) when `checkpoint` is of another task than `options`.
void require_task(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                  const TrainOptions& options);

// `options` so that their steps take as many samples as those of the run that wrote `checkpoint`:
// as ResumeOptions says. Throws Error(invalid_argument) naming `checkpoint` when they would take
// others.
TrainOptions with_batch_of(const CheckpointInfo& stored, const std::filesystem::path& checkpoint,
                           TrainOptions options, int world_size, const ResumeOptions& resume);

// config.toml: the options of a run as a TOML file that fftrain's --config takes back.
inline constexpr char kOptionsFileName[] = "config.toml";

// One line an option under its name on fftrain's command line, all but work_dir: `lr = 0.1`,
// `crop-scale = [0.08, 1.0]`. Texts that are empty are left out. A path that CLI11's reader cannot
// take back is written as a comment: one with '#', or with both kinds of quotes.
std::string options_to_toml(const TrainOptions& options);

// Processes that were started for different runs would wait for each other's answers, or take them
// for their own. All functions are collective, and do nothing in a world of one.

// Throws Error(invalid_argument) on every rank unless all have rank 0's options; which one differs
// is said by the rank where it does. What concerns one machine may differ: numbers of threads, the
// device, where the data lies, which work folder it is. `given`: the names of the options that
// count; null: all of them.
void check_same_options(Communicator& communicator, const TrainOptions& options,
                        const std::vector<std::string>* given = nullptr);

// The same for the content of the data set, by its fingerprint.
void check_same_data(Communicator& communicator, const std::string& fingerprint,
                     const DataFolders& data);

// The same for the order of the training samples (LoaderState::order). It may follow from where the
// data lies: ranks in different orders would take some samples twice and others never.
void check_same_order(Communicator& communicator, const std::string& order);

}  // namespace ffkit
