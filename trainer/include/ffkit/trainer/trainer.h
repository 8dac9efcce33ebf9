// Training and evaluation of a task (task.h) on a data set folder.
//
// train(), resume_training(), train_or_resume(), evaluate() and predict() block until they are done
// and write their progress to a ProgressOutput. They set libtorch's number of threads and its seed
// for the whole process; do not call them from two threads at once. If data, options or checkpoints
// are wrong, all functions throw ffkit::Error with one sentence.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/launch/launch.h>
#include <ffkit/trainer/eval_result.h>
#include <ffkit/trainer/train_options.h>

namespace ffkit {

// Where a run writes for people and programs that watch it.
struct ProgressOutput {
  std::FILE* lines = stdout;  // a line for each epoch, and the summary; null: none
  // A terminal, for a line that is rewritten during an epoch; null: none.
  std::FILE* live = nullptr;
  // Folder for a profile of a few steps (StepProfiler); empty: none.
  std::filesystem::path profile = {};
  // evaluate() and predict(): file for the results, if the task writes any; empty: none.
  std::filesystem::path results = {};
  // evaluate(): file for the confusion matrix (.json or .csv) of a task with classes, which is also
  // printed as a table; empty: none.
  std::filesystem::path confusion = {};
  bool has_steps = false;  // `lines` gets one every TrainOptions::log_every steps, too
  // JSON objects, one a line, instead of the lines for steps, epochs, validations and the summary
  // (run_report.h); null: none.
  std::FILE* json = nullptr;
  // A training calls it in every process after its last read and before its loaders end, which may
  // wait for a store that does not answer. For programs that exit then; may be empty.
  std::function<void()> at_end = {};
};

struct TrainSummary {
  EvalResult last;              // this call's last validation; without metrics: there was none
  double best = 0;              // best value of the task's best metric in the whole run
  int64_t best_epoch = 0;       // counted from 1
  int64_t epochs_done = 0;      // by this call
  double seconds = 0;           // of this call, with validation and checkpoints
  double units_per_second = 0;  // in this call's training steps without the first five
  double data_wait_share = 0;   // share of those steps' time that waited for the loader, 0 .. 1
  // Samples of all processes a second without the first five steps of each epoch; 0: no more steps.
  double fps = 0;
  // The last one that was written; empty without a work folder, and on ranks above 0.
  std::filesystem::path checkpoint;
  bool is_stopped = false;  // the run ended early because it was asked to stop (stop.h)
};

// A policy of the whole process, for training programs: how the C library returns memory.
//
// Freed memory stays in the process instead of going back to the system. Activations and gradients
// are hundreds of megabytes that come and go in every step. By default glibc maps and unmaps each
// of them, and zeroing their pages takes about a tenth of a training step on a CPU. Call it once at
// the start of main(). Does nothing with another C library.
void keep_freed_memory();

// Every process of `place`'s world must call the functions below, with the same options. Only rank
// 0 prints and needs the work folder and the checkpoint. They throw Error(io) if another process is
// gone.

// Trains from the beginning. Throws Error(invalid_argument) if the work folder already holds
// checkpoints or a log, and if the loss is no longer a number.
TrainSummary train(const TrainOptions& options, const ProgressOutput& output = {},
                   const ProcessPlace& place = {});

// Allowed differences from the run that wrote the checkpoint.
struct ResumeOptions {
  // Whether a step may have another number of samples. If false, options for another number are an
  // error. Options that leave it open (no global_batch_size; batch_size and accumulate as in the
  // checkpoint) keep the checkpoint's number, and the processes share it.
  bool accept_batch_change = false;
  // The names of the given options, such as "lr" and "batch-size". All others keep the values of
  // the continued run, not those in `options`, except if a given option replaces them, as "epochs"
  // replaces "steps". Nothing: all were given.
  std::optional<std::vector<std::string>> given = std::nullopt;
};

// Continues from `checkpoint`: a file, or a work folder, whose newest checkpoint is taken. With the
// checkpoint's options and samples a step, the result is that of an uninterrupted run; with another
// number of processes, as far as sums of floats allow. Throws Error(invalid_argument) if the task's
// facts, data, seed or samples a step differ from the checkpoint's, if the processes cannot share
// these samples evenly, or if options.work_dir holds checkpoints of another run or later ones of
// this run.
TrainSummary resume_training(const TrainOptions& options, const std::filesystem::path& checkpoint,
                             const ProgressOutput& output = {}, const ProcessPlace& place = {},
                             const ResumeOptions& resume = {});

// Continues from the newest whole checkpoint in options.work_dir, or trains from the beginning
// without one. A job that is preempted and started again calls this every time. Prints which
// options differ from the run before, and which damaged checkpoints were skipped. A finished run
// returns at once.
TrainSummary train_or_resume(const TrainOptions& options, const ProgressOutput& output = {},
                             const ProcessPlace& place = {}, const ResumeOptions& resume = {});

// Validates the weights of `checkpoint` on the split "val" of options.data. `checkpoint` is a file,
// a work folder, or a file of weights alone (.pth, .safetensors), whose facts are
// Task::facts_of_weights(). Throws Error(cancelled) if it was asked to stop (stop.h), and
// Error(unsupported) if output.results is given and the task writes none. If the split has no truth
// to compare with, the result has EvalResult::no_metrics; without output.results, it throws
// Error(invalid_argument) then.
//
// `given`: the names of the given options. All others are those of the checkpoint's run, except
// options for training only, such as limit_batches, and, if `options` name other data, options for
// the data, such as val_share. Nothing: all were given.
EvalResult evaluate(const TrainOptions& options, const std::filesystem::path& checkpoint,
                    const ProgressOutput& output = {}, const ProcessPlace& place = {},
                    const std::optional<std::vector<std::string>>& given = std::nullopt);

// Predicts all samples of options.data with the weights of `checkpoint`, and writes output.results.
// Labels are not needed. The data are a data set, whose val_split or only split is taken, or a
// folder of pictures at any depth. `checkpoint`, `given` and errors are as for evaluate(). Throws
// Error(unsupported) for a task that predicts nothing.
EvalResult predict(const TrainOptions& options, const std::filesystem::path& checkpoint,
                   const ProgressOutput& output = {}, const ProcessPlace& place = {},
                   const std::optional<std::vector<std::string>>& given = std::nullopt);

// `options` with the name of their task: their own, or that of the task that fits their data, or
// kFirstTask without data. The functions above do this themselves. Throws Error(invalid_argument)
// for an unknown name, and for data that fit no task or several.
TrainOptions with_task(TrainOptions options);

// The options of the run that wrote `checkpoint`, to begin with for the functions above.
// `checkpoint` is a file, the folder of a checkpoint in parts, or a work folder, whose newest one
// is taken.
TrainOptions read_checkpoint_options(const std::filesystem::path& checkpoint);
// The same for evaluate() and predict(). Ignores options that only training uses, such as
// limit_batches.
TrainOptions read_evaluation_options(const std::filesystem::path& checkpoint);

// The options in the newest checkpoint of `work_dir` whose options can be read. train_or_resume()
// may continue from it. Nothing without one.
std::optional<TrainOptions> read_newest_options(const std::filesystem::path& work_dir);

// Whether `path` is a file with only weights, or a folder of Hugging Face's with such a file. False
// for a checkpoint and a folder with checkpoints. Throws Error(not_found) for a folder with
// neither.
bool is_weights_file(const std::filesystem::path& path);

struct ExportOptions {
  std::string weights_key = {};  // as TrainOptions::weights_key
  // The Python library whose names the tensors get. Empty: they keep the checkpoint's. Other names
  // need TaskEntry::use_names_of.
  std::string names = {};
  bool with_script = false;  // also writes a Python script that loads the weights and exports ONNX
  std::FILE* lines = nullptr;  // gets a sentence on what was chosen and left out; null: none
};

// Writes the weights of `from` (checkpoint, work folder or file of weights) to `to`, a .safetensors
// or .pth file that load_state_dict(strict=True) of the same model in Python takes, and the
// files that belong beside it (TaskEntry::files_beside). `to` appears whole or not at all. Throws
// Error(invalid_argument) if `to` exists or has another ending.
//
// with_script and names need a checkpoint, and TaskEntry::python_model or use_names_of; otherwise
// Error(unsupported) is thrown. With names, model.safetensors or pytorch_model.bin gets a
// config.json beside it for transformers' from_pretrained().
void export_weights(const std::filesystem::path& from, const std::filesystem::path& to,
                    const ExportOptions& options = {});

// Measures the loader and the model separately, to find the bottleneck of training.

// What --benchmark runs on one batch of noise.
enum class BenchmarkMode {
  forward,  // the forward pass of an evaluation
  step,     // a step of training: forward, backward and update
};

// Results are the task's units (images, tokens) a second over all processes, without the first five
// steps. options.limit_batches is the number of measured steps; 0: 20. All processes of `place`'s
// world call these functions. Rank 0 prints a line for each.

// Only the model.
double measure_model(const TrainOptions& options, BenchmarkMode mode,
                     const ProgressOutput& output = {}, const ProcessPlace& place = {});

// Only the training loader: it reads, decodes, augments and copies to the device as fast as it can.
// The line also says what limits it.
double measure_loader(const TrainOptions& options, const ProgressOutput& output = {},
                      const ProcessPlace& place = {});

struct Bottleneck {
  double loader = 0;           // units a second of the loader alone
  double model = 0;            // units a second of training steps without data
  double both = 0;             // units a second of training
  double data_wait_share = 0;  // share of training's time, 0 .. 1
};

// All three. A last line says which one is the limit.
Bottleneck measure_bottleneck(const TrainOptions& options, const ProgressOutput& output = {},
                              const ProcessPlace& place = {});

}  // namespace ffkit
