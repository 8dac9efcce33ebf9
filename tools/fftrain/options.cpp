#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <ffkit/format/dataset.h>
#include <ffkit/trainer/task_registry.h>

#include "base/left_out.h"
#include "tools/common/storage_arguments.h"
#include "tools/common/table_options.h"
#include "tools/launch_options.h"

namespace ffkit {
namespace {

constexpr char kFooter[] =
    R"(Examples:
  fftrain --data /fast/imagenet --work-dir runs/a --arch resnet50
  fftrain --data /fast/muco:1 --data /fast/mscoco:1 --work-dir runs/p --config trainer/recipes/rootnet-20-epochs.toml
  fftrain --data /fast/imagenet --work-dir runs/b --config trainer/recipes/resnet50-90-epochs.toml
  fftrain --nproc 8 --data /fast/imagenet --work-dir runs/c --amp bf16 --resume
  torchrun --nproc-per-node 8 --no-python fftrain --data /fast/imagenet --work-dir runs/c --resume
  srun fftrain --data /fast/imagenet --work-dir runs/c --resume
  fftrain --resume-from runs/a --epochs 120
  fftrain --data /fast/flowers --arch resnet50 --pretrained resnet50.pth --work-dir runs/d
  fftrain --evaluate runs/a
  fftrain --evaluate runs/a/best --confusion confusion.json
  fftrain --predict runs/a/best --data new-pictures --results out.jsonl
  fftrain --evaluate resnet50.pth --arch resnet50 --data /fast/imagenet
  fftrain --export runs/a --output resnet50.pth

Exit status: 0: done; 1: failed; 2: wrong use; 75: stopped by SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGHUP; 130: stopped by Ctrl-C.
A run that is stopped writes a checkpoint before it ends. The same command with --resume continues the run. The run writes no checkpoint if it has made no
step, or if it has waited for data or for another process for 20 s. The last checkpoint is then an earlier one.)";

// The options of `table` whose group is `group`, under the heading `title`.
void add_group(CLI::App& app, OptionTable& table, const std::string& group,
               const std::string& title, WhenParsed& when_parsed) {
  app.option_defaults()->group(title);
  for (Option& option : table.options()) {
    if (option.group == group) add_table_option(app, option, when_parsed, true);
  }
}

// Those of the run, with those of its task behind the first group.
void add_table_options(CLI::App& app, TrainCommand& command) {
  WhenParsed when_parsed;
  bool is_first = true;
  for (const std::string& group : groups_of(command.tables.general)) {
    add_group(app, command.tables.general, group, group, when_parsed);
    if (!std::exchange(is_first, false)) continue;
    for (const std::string& own : groups_of(command.tables.task)) {
      const std::string title = fmt::format("{} (task {})", own, command.options.task_name());
      add_group(app, command.tables.task, own, title, when_parsed);
    }
  }
  app.parse_complete_callback([when_parsed] {
    for (const auto& action : when_parsed) action();
  });
}

void add_run_options(CLI::App& app, TrainCommand& command) {
  app.option_defaults()->group("Run");
  app.add_flag(
         "--resume", command.resume,
         "Continues from the newest checkpoint in --work-dir, with the options of this checkpoint "
         "unless you give others. If there is no checkpoint, fftrain starts a new run")
      ->needs(app.get_option("--work-dir"))
      ->check([](const std::string& value) {
        return std::string(value == "true" || value == "false" ? ""
                                                               : "takes no value; give a "
                                                                 "checkpoint with --resume-from");
      })
      ->configurable(false);
  app.add_flag("--accept-batch-change", command.resume_options.accept_batch_change,
               "Allows that a continued run has another number of samples in a step. Without this "
               "option, fftrain keeps the number of the checkpoint, or gives an error if the "
               "options or the number of processes do not fit this number");
  CLI::Option* progress =
      app.add_option(
             "--progress", command.progress,
             "Form of the progress messages. 'auto' updates one line on a terminal, and elsewhere "
             "prints a line every --log-every steps. 'lines' always prints a line every "
             "--log-every steps. 'json' prints JSON objects on standard output, one on each line")
          ->check(CLI::IsMember({"auto", "lines", "json"}))
          ->capture_default_str()
          ->type_name("WORD")
          ->configurable(false);
  app.add_flag("--quiet", command.quiet, "Prints only errors")
      ->configurable(false)
      ->excludes(progress);
}

// What fftrain does instead of training from the beginning.
void add_other_actions(CLI::App& app, TrainCommand& command) {
  app.option_defaults()->group("Instead of a new run");
  app.add_flag_callback(
         "--list-archs",
         [&command] {
           for (const std::string& name : command.tables.task.find("arch")->choices)
             fmt::print("{}\n", name);
           throw CLI::Success();
         },
         "Prints the possible values of --arch, one on each line. This option needs no data")
      ->configurable(false);
  CLI::Option* resume =
      app.add_option(
             "--resume-from", command.resume_from,
             "Continues the run of this checkpoint. The options of the checkpoint are the defaults")
          ->excludes(app.get_option("--resume"));
  CLI::Option* evaluate =
      app.add_option("--evaluate", command.evaluate,
                     "Only validates this checkpoint. The options of the checkpoint are the "
                     "defaults. If you give weights (.pth or .safetensors), also give --data and "
                     "the option that names the model")
          ->excludes(resume);
  CLI::Option* predict =
      app.add_option("--predict", command.predict,
                     "Only makes predictions with this checkpoint or these weights, and writes the "
                     "predictions to --results. --data is a data set or a folder of pictures")
          ->excludes(resume)
          ->excludes(evaluate);
  CLI::Option* results =
      app.add_option("--results", command.results,
                     "File for the results of --evaluate or --predict, if the task has results");
  predict->needs(results)->needs(app.get_option("--data"));
  CLI::Option* confusion =
      app.add_option("--confusion", command.confusion,
                     "File (.json or .csv) for the confusion matrix of --evaluate. fftrain also "
                     "prints the accuracy of each class")
          ->needs(evaluate);
  CLI::Option* export_from =
      app.add_option("--export", command.export_from,
                     "Only writes the weights of this checkpoint to --output, for Python")
          ->excludes(resume)
          ->excludes(evaluate)
          ->excludes(predict);
  for (CLI::Option* option : {resume, evaluate, predict, export_from}) {
    option->type_name("CHECKPOINT")->configurable(false);
  }
  CLI::Option* output =
      app.add_option("-o,--output", command.output,
                     "File that --export writes, with the ending .pth or .safetensors")
          ->needs(export_from);
  for (CLI::Option* option : {results, confusion, output})
    option->type_name("FILE")->configurable(false);
  export_from->needs(output);
  CLI::Option* names = app.add_option("--names", command.names,
                                      "Library that determines the names of the tensors in the "
                                      "file of --export: torchvision, timm or transformers. The "
                                      "library must have a network that computes the same")
                           ->type_name("LIBRARY")
                           ->check(CLI::IsMember({"torchvision", "timm", "transformers"}))
                           ->configurable(false)
                           ->needs(export_from);
  app.add_flag("--script", command.script,
               "Also writes a Python script beside the file of --export. The script loads the "
               "weights and writes them as ONNX")
      ->configurable(false)
      ->needs(export_from)
      ->excludes(names);
  CLI::Option* benchmark =
      app.add_option(
             "--benchmark", command.benchmark,
             "Only measures the speed of the model on one batch of noise. 'forward' measures the "
             "forward pass. 'step' measures forward pass, backward pass and update")
          ->expected(0, 1)
          ->default_str("step")
          ->check(CLI::IsMember({"forward", "step"}))
          ->type_name("MODE");
  CLI::Option* loader = app.add_flag("--loader-only", command.loader_only,
                                     "Only measures the speed of the loader, without a model")
                            ->excludes(benchmark);
  CLI::Option* bottleneck =
      app.add_flag("--bottleneck", command.bottleneck,
                   "Only measures the speed of the loader, of the model and of both together, and "
                   "prints which of them limits the speed")
          ->excludes(benchmark)
          ->excludes(loader);
  CLI::Option* profile = app.add_option("--prof", command.profile,
                                        "Folder for a Chrome trace and a table of operators. Both "
                                        "describe steps 6 to 10, or the steps of a shorter run")
                             ->type_name("FOLDER");
  for (CLI::Option* other : {evaluate, predict, export_from, benchmark, loader, bottleneck})
    profile->excludes(other);
}

void add_distributed_options(CLI::App& app, TrainCommand& command) {
  app.option_defaults()->group("Devices and processes");
  add_launch_options(
      app, command.launch,
      "Number of processes to start on this machine. 0 means one process for each GPU");
}

// DATA without --data before it, as other trainers have it. The first option of all, so that files
// leave out what it gives.
void add_data_argument(CLI::App& app) {
  app.add_option_function<std::string>(
         "DATA",
         [&app](const std::string& word) {
           // An option that there is not, whose value this may be, is said first.
           const std::vector<std::string> extras = app.remaining();
           if (std::ranges::any_of(extras, [](const auto& e) { return e.starts_with("-"); }))
             return;
           CLI::Option* data = app.get_option("--data");
           // Such as a work folder behind --resume.
           const bool is_other =
               data->count() > 0 && std::filesystem::is_directory(word) && !is_data_set(word);
           if (data->count() > 0 && !is_other) {
             throw CLI::ParseError(fmt::format("'{}' is one argument too many for fftrain", word),
                                   CLI::ExitCodes::ExtrasError);
           }
           constexpr std::array kNoData = {".pth", ".pt",   ".tar", ".safetensors",
                                           ".py",  ".toml", ".yaml"};
           const std::string ending = std::filesystem::path(word).extension().string();
           if (is_other || std::ranges::find(kNoData, ending) != kNoData.end()) {
             throw CLI::ValidationError(
                 "'" + word +
                 "' is not a data set; give a checkpoint with --resume-from, --evaluate or "
                 "--pretrained, and a file of options (TOML) with --config");
           }
           data->add_result(word);
         },
         "Data set folder, the same as --data DATA")
      ->type_name("")
      ->configurable(false);
}

// The options that say which task it is, as they are on the command line and in --config; what is
// wrong there is said later.
struct TaskHints {
  TaskHints(int argc, char** argv) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    add_options_file(app, /*takes_all=*/true);
    app.add_option("--task", task);
    let_repeat(app.add_option("--storage", storage));
    let_repeat(app.add_option("--data", data));
    app.add_option("--resume-from", resume_from);
    app.add_option("--evaluate", evaluate);
    app.add_option("--predict", evaluate);
    app.add_flag("--resume", resume);
    app.add_option("--work-dir", work_dir);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Error&) {
      // The parsing proper will find it.
    }
    // Here, where most options are not known, words alone may be their values.
    for (const std::string& word : app.remaining()) {
      if (data.empty() && (!is_local(word) || is_data_set(word))) data = {word};
    }
  }

  std::string task;
  std::vector<std::string> data, storage;
  std::filesystem::path resume_from, evaluate, work_dir;
  bool resume = false;
};

}  // namespace

bool is_data_set(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) && !list_splits(path).empty();
}

std::vector<std::string> given_options(const CLI::App& app, const TrainCommand& command) {
  std::vector<std::string> names;
  for (const OptionTable* table : {&command.tables.general, &command.tables.task}) {
    for (const Option& option : table->options()) {
      if (app.count("--" + option.name) > 0) names.push_back(option.name);
    }
  }
  return names;
}

void set_first_options(int argc, char** argv, TrainCommand& command) {
  const TaskHints hints(argc, argv);
  const auto names = TaskRegistry::instance().names();
  try {
    require_built("task", hints.task);
    const std::filesystem::path checkpoint =
        hints.resume_from.empty() ? hints.evaluate : hints.resume_from;
    bool has_options =
        !checkpoint.empty() && (hints.evaluate.empty() || !is_weights_file(checkpoint));
    if (has_options) command.options = read_checkpoint_options(checkpoint);
    if (hints.resume && checkpoint.empty() && !hints.work_dir.empty()) {
      if (std::optional<TrainOptions> before = read_newest_options(hints.work_dir)) {
        command.options = std::move(*before);
        has_options = true;
      }
    }
    give_storage_options(hints.data.empty() ? command.options.data.words() : hints.data,
                         hints.storage);
    if (std::find(names.begin(), names.end(), hints.task) != names.end()) {
      if (hints.task != command.options.task_name()) command.options = {};
      command.options.task = hints.task;
    } else if (!has_options) {
      command.options.task = with_task({.data = DataFolders::parse(hints.data)}).task;
    }
  } catch (const LeftOutError&) {
    command.late_error = std::current_exception();
    command.is_left_out = !hints.task.empty() || !hints.data.empty() || hints.resume ||
                          !hints.resume_from.empty() || !hints.evaluate.empty();
  } catch (...) {
    command.late_error = std::current_exception();
  }
  // For --help.
  if (std::ranges::find(names, command.options.task_name()) == names.end()) {
    command.options = {};
    command.options.task = names.front();
  }
}

void add_train_options(CLI::App& app, TrainCommand& command) {
  // The last of several wins, so that scripts can pass their caller's options on.
  app.option_defaults()->always_capture_default()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  std::string tasks = "'fftrain --task NAME --help' shows the options of a task.\nTasks:\n";
  for (const std::string& name : TaskRegistry::instance().names()) {
    const TaskEntry& task = TaskRegistry::instance().find(name);
    tasks += fmt::format("  {:<16} {}{}\n", name, task.summary,
                         task.results.empty() ? "" : ". --results writes " + task.results);
  }
  app.footer(tasks + left_out_line({"task"}) + "\n" + built_examples(kFooter, "task"));
  command.tables = option_tables(command.options);
  add_data_argument(app);
  add_options_file(app, /*takes_all=*/command.is_left_out);
  app.allow_extras(command.is_left_out);
  add_table_options(app, command);
  add_run_options(app, command);
  add_other_actions(app, command);
  add_distributed_options(app, command);
}

}  // namespace ffkit
