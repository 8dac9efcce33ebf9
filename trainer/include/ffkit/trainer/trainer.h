// Training and evaluation of a task (task.h) on a data set folder.
//
// train(), resume_training(), train_or_resume(), evaluate() and predict() block until they are done
// and write progress to a ProgressOutput. They set the number of libtorch's threads and its seed
// for the whole process: not for use from two threads at once. All functions throw ffkit::Error
// with one sentence for anything that is wrong with data, options or checkpoints.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/launch.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Where people look while it runs.
struct ProgressOutput {
  std::FILE* lines = stdout;  // one line an epoch and the summary; null: none
  // A terminal for a line that is rewritten while an epoch runs; null: none.
  std::FILE* live = nullptr;
  // Folder for a profile of a few steps (StepProfiler); empty: none.
  std::filesystem::path profile = {};
  // evaluate() and predict(): file for the results of a task that writes some; empty: none.
  std::filesystem::path results = {};
  // evaluate() alone: file for the confusion matrix of a task that has classes (.json or .csv),
  // printed as a table, too; empty: none
  std::filesystem::path confusion = {};
  bool has_steps = false;  // `lines` has one every TrainOptions::log_every steps, too
  // Objects of JSON, one a line, in place of the lines of steps, epochs, validations and the
  // summary (report/progress_json.h); null: none.
  std::FILE* json = nullptr;
};

struct TrainSummary {
  EvalResult last;              // of this call; without metrics: no epoch was validated
  double best = 0;              // of the task's best metric, over the whole run
  int64_t best_epoch = 0;       // counted from 1
  int64_t epochs_done = 0;      // by this call
  double seconds = 0;           // of this call, validation and checkpoints included
  double units_per_second = 0;  // in training steps of this call, without the first five
  // Share of the time of those steps spent waiting for the loader, 0 .. 1.
  double data_wait_share = 0;
  // The last one written; empty without a work folder, and on other ranks than 0.
  std::filesystem::path checkpoint;
  bool is_stopped = false;  // it ended before its last epoch because it was asked to (stop.h)
};

// The functions below are called by every process of `place`'s world, with the same options. Rank 0
// alone prints, and needs the work folder and the checkpoint. They throw Error(io) when another
// process is gone.

// Trains from the beginning. Throws Error(invalid_argument) when the work folder already holds
// checkpoints or a log, and when the loss stops being a number.
TrainSummary train(const TrainOptions& options, const ProgressOutput& output = {},
                   const ProcessPlace& place = {});

// What may differ from the run that wrote the checkpoint.
struct ResumeOptions {
  // Another number of samples a step. Otherwise options that say nothing of it (no
  // global_batch_size, batch_size and accumulate as in the checkpoint) keep the checkpoint's,
  // shared anew among the processes, and options that make another one are refused.
  bool accept_batch_change = false;
  // For train_or_resume(): the names of the options that were given, such as "lr" and "batch-size".
  // All others have the values of the run that goes on, whatever `options` hold. Nothing: all count
  // as given.
  std::optional<std::vector<std::string>> given = std::nullopt;
};

// Continues from `checkpoint`: a file, or a work folder, whose newest checkpoint is taken. With the
// options of the checkpoint and the same samples in a step, the result is that of an uninterrupted
// run; with another number of processes, as far as sums of floats allow. Throws
// Error(invalid_argument) when the task's facts, data, seed or the samples a step differ from the
// checkpoint's, when these cannot be shared evenly by the processes, or when
// options.work_dir holds checkpoints of another run or later ones of this run.
TrainSummary resume_training(const TrainOptions& options, const std::filesystem::path& checkpoint,
                             const ProgressOutput& output = {}, const ProcessPlace& place = {},
                             const ResumeOptions& resume = {});

// Continues from the newest whole checkpoint in options.work_dir, or trains from the beginning when
// there is none. A job that is preempted and started again calls this every time. Prints which
// options differ from those of the run before, and which damaged checkpoints were passed over. A
// finished run returns at once.
TrainSummary train_or_resume(const TrainOptions& options, const ProgressOutput& output = {},
                             const ProcessPlace& place = {}, const ResumeOptions& resume = {});

// Validates the weights of `checkpoint` (file or work folder) on the split "val" of options.data.
// Also takes a file of weights alone, .pth or .safetensors: its facts are Task::facts_of_weights().
// Throws Error(cancelled) when it was asked to stop (stop.h), Error(unsupported) when
// output.results is given and the task writes none, Error(invalid_argument) when the split has no
// truth to compare with and output.results is empty; with them, the result has
// EvalResult::no_metrics.
EvalResult evaluate(const TrainOptions& options, const std::filesystem::path& checkpoint,
                    const ProgressOutput& output = {}, const ProcessPlace& place = {});

// Predicts what options.data holds with the weights of `checkpoint`, labels or not, and writes
// output.results. Data are a data set, of which the split val_split is taken, or its only one; or a
// folder of pictures, however deep. Takes what evaluate() takes, and throws alike;
// Error(unsupported) for a task that predicts nothing.
EvalResult predict(const TrainOptions& options, const std::filesystem::path& checkpoint,
                   const ProgressOutput& output = {}, const ProcessPlace& place = {});

// `options` with the name of their task: the one that they name, or the one that fits the schema of
// their data, or kFirstTask where there is no data to ask. The functions above do so themselves.
// Throws Error(invalid_argument) for a name that is none, and for data that fits no task or
// several.
TrainOptions with_task(TrainOptions options);

// The options of the run that wrote `checkpoint` (a file, the folder of a checkpoint in parts, or a
// work folder, whose newest one is taken), to start from in the functions above, which take the
// same.
TrainOptions read_checkpoint_options(const std::filesystem::path& checkpoint);

// The same for the newest checkpoint in `work_dir` whose options can be read, which
// train_or_resume() may go on from; nothing where there is none.
std::optional<TrainOptions> read_newest_options(const std::filesystem::path& work_dir);

// Whether `path` is a file of weights alone, or a folder of Hugging Face's with one, and not a
// checkpoint or a folder with checkpoints. Throws Error(not_found) for a folder with neither.
bool is_weights_file(const std::filesystem::path& path);

struct ExportOptions {
  std::string weights_key = {};  // as TrainOptions::weights_key
  // The library of Python whose names the tensors get; empty: those of the checkpoint. Another than
  // a checkpoint's own needs TaskEntry::use_names_of.
  std::string names = {};
  bool with_script = false;  // also writes a Python script that loads them, and writes them as ONNX
  std::FILE* lines = nullptr;  // gets a sentence on what was chosen and left out; null: nobody
};

// Writes the weights in `from` (checkpoint, work folder or file of weights) to `to`, a .safetensors
// or .pth file that load_state_dict(strict=True) of the same model in Python takes, and what its
// task writes beside them (TaskEntry::write_beside). with_script: a checkpoint's alone, of a task
// with TaskEntry::python_model; throws Error(unsupported) otherwise. names: the same, and beside
// model.safetensors or pytorch_model.bin a config.json for transformers' from_pretrained(). Written
// atomically; throws Error(invalid_argument) when `to` exists or has another ending.
void export_weights(const std::filesystem::path& from, const std::filesystem::path& to,
                    const ExportOptions& options = {});

}  // namespace ffkit
