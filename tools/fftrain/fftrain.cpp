// fftrain as a function: all the work is in trainer/.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ffkit/base/version.h>
#include <ffkit/format/dataset.h>
#include <ffkit/launch/launch.h>
#include <ffkit/launch/stop.h>
#include <ffkit/trainer/trainer.h>

#include "launch/waiting.h"
#include "options.h"
#include "storage/http/http_client.h"
#include "tools/common/command_line.h"
#include "tools/common/programs.h"

namespace {

// Sentences as objects of JSON, {"kind":"note","text":"..."}, for the lines that are not objects
// themselves.
class Notes {
 public:
  // `to` is not owned.
  explicit Notes(std::FILE* to) : to_(to) {
    cookie_io_functions_t notes{};
    notes.write = [](void* self, const char* text, size_t size) {
      static_cast<Notes*>(self)->add({text, size});
      return static_cast<ssize_t>(size);
    };
    file_.reset(::fopencookie(this, "w", notes));
    // A sentence stands before the object that follows it.
    if (file_) std::setvbuf(file_.get(), nullptr, _IOLBF, BUFSIZ);
  }
  std::FILE* file() const { return file_.get(); }

 private:
  void add(std::string_view text) {
    text_ += text;
    size_t begin = 0;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
      const nlohmann::ordered_json note = {{"kind", "note"},
                                           {"text", text_.substr(begin, end - begin)}};
      fmt::print(to_, "{}\n",
                 note.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      begin = end + 1;
    }
    text_.erase(0, begin);
    std::fflush(to_);
  }

  std::FILE* to_;
  std::string text_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

// Standard output for the lines of a training, which are in metrics.jsonl too. What a log does not
// take, because its disk is full or its reader has ended, is dropped: that is no reason to end a
// run of days.
std::FILE* open_log() {
  cookie_io_functions_t log{};
  log.write = [](void*, const char* text, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t n = ::write(STDOUT_FILENO, text + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    return static_cast<ssize_t>(size);
  };
  return ::fopencookie(nullptr, "w", log);
}

bool is_training(const ffkit::TrainCommand& command) {
  return command.evaluate.empty() && command.predict.empty() && command.benchmark.empty() &&
         !command.bottleneck && !command.loader_only;
}

// True when it was asked for a measurement instead of a training.
bool measure(const ffkit::TrainCommand& command, const ffkit::ProgressOutput& output,
             const ffkit::ProcessPlace& place) {
  const ffkit::TrainOptions& o = command.options;
  if (command.bottleneck) {
    ffkit::measure_bottleneck(o, output, place);
  } else if (command.loader_only) {
    ffkit::measure_loader(o, output, place);
  } else if (!command.benchmark.empty()) {
    const auto mode =
        command.benchmark == "step" ? ffkit::BenchmarkMode::step : ffkit::BenchmarkMode::forward;
    ffkit::measure_model(o, mode, output, place);
  } else {
    return false;
  }
  return true;
}

// Starts the processes of this machine where the command line or the environment wants it.
std::optional<int> launch(int argc, char** argv, const ffkit::TrainCommand& command,
                          ffkit::ProcessPlace& place) {
  const ffkit::Environment environment = ffkit::environment_seeing(command.options.device);
  const ffkit::LaunchPlan plan = ffkit::plan_launch(command.launch, environment);
  place = plan.place;
  if (plan.num_processes > 0) {
    // Of several processes, too, standard output is objects of JSON.
    ffkit::LaunchOptions options = command.launch;
    options.marks_output = command.progress != "json";
    return ffkit::run_local_processes(plan, options, std::vector<std::string>(argv, argv + argc));
  }
  if (command.launch.bind_numa) ffkit::bind_to_numa_node(place, environment);
  return std::nullopt;
}

// Of a data set whose training split alone is named, as other trainers want it, the data set: the
// validation split is beside it. What is to be predicted is taken as it is named.
void take_whole_data_sets(ffkit::TrainCommand& command, bool says) {
  namespace fs = std::filesystem;
  std::vector<ffkit::DataFolder> folders = command.options.data.folders();
  for (ffkit::DataFolder& folder : folders) {
    folder.path = ffkit::kept_path(folder.path);
    const fs::path path =
        folder.path.has_filename() ? folder.path : folder.path.parent_path();  // a slash at its end
    const std::string split = path.filename().string();
    const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!command.predict.empty() || !ffkit::is_local(path) ||
        (split != "train" && split != "mini_train") || !ffkit::is_split_folder(path) ||
        ffkit::list_splits(above).size() < 2) {
      continue;
    }
    if (says) {
      fmt::print(stderr, "{} is the split '{}' of the data set {}; the whole data set is used\n",
                 folder.path.string(), split, above.string());
    }
    folder.path = above;
  }
  command.options.data = ffkit::DataFolders(std::move(folders));
}

int run_until_stopped(const ffkit::TrainCommand& command, const ffkit::ProcessPlace& place) {
  ffkit::ProgressOutput output;
  const bool is_json = command.progress == "json";
  const bool is_live = command.progress == "auto" && isatty(STDERR_FILENO) != 0;
  if (is_live && !command.quiet) output.live = stderr;
  // A terminal has the line that is drawn over instead.
  output.has_steps = !is_live || isatty(STDOUT_FILENO) == 0;
  output.profile = command.profile;
  if (!is_training(command)) {
    const Notes notes(stdout);
    if (command.quiet) output.lines = nullptr;
    if (is_json) {
      output.json = stdout;
      output.lines = notes.file();
    }
    output.results = command.results;
    output.confusion = command.confusion;
    if (!command.predict.empty()) {
      ffkit::predict(command.options, command.predict, output, place, command.resume_options.given);
    } else if (!measure(command, output, place)) {
      ffkit::evaluate(command.options, command.evaluate, output, place,
                      command.resume_options.given);
    }
    ffkit::require_written_stdout();
    return 0;
  }
  // Not above: there the lines are what was asked for.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(open_log(), &std::fclose);
  const Notes notes(log.get());
  output.lines = command.quiet ? nullptr : is_json ? notes.file() : log.get();
  output.at_end = ffkit::end_process_requests;
  if (is_json) output.json = log.get();
  const ffkit::TrainSummary summary =
      command.resume
          ? ffkit::train_or_resume(command.options, output, place, command.resume_options)
      : !command.resume_from.empty() ? ffkit::resume_training(command.options, command.resume_from,
                                                              output, place, command.resume_options)
                                     : ffkit::train(command.options, output, place);
  return summary.is_stopped ? ffkit::stop_exit_status(ffkit::stop_signal()) : 0;
}

int run(CLI::App& app, int argc, char** argv, ffkit::TrainCommand& command) {
  // Writing to a pipe without a reader is an error like any other; `fftrain ... | tee log` outlives
  // tee.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  if (!command.export_from.empty()) {
    const ffkit::Waiting waiting("exporting", ffkit::Waiting::kNothingToLose);
    ffkit::export_weights(command.export_from, command.output,
                          {.weights_key = command.options.weights_key,
                           .names = command.names,
                           .with_script = command.script,
                           .lines = command.quiet ? nullptr : stdout});
    ffkit::require_written_stdout();
    return 0;
  }
  if (!command.results.empty() && command.evaluate.empty() && command.predict.empty())
    throw CLI::RequiresError("--results", "--evaluate or --predict");
  const std::filesystem::path& evaluated =
      command.evaluate.empty() ? command.predict : command.evaluate;
  const std::filesystem::path checkpoint =
      command.resume_from.empty() ? evaluated : command.resume_from;
  if (!checkpoint.empty() && app.count("--pretrained") > 0) {
    throw CLI::ExcludesError("--pretrained", !command.resume_from.empty() ? "--resume-from"
                                             : !command.evaluate.empty()  ? "--evaluate"
                                                                          : "--predict");
  }
  if (command.late_error) std::rethrow_exception(command.late_error);
  if (app.count("--weights-key") > 0 && !evaluated.empty() && !ffkit::is_weights_file(checkpoint)) {
    throw CLI::ValidationError("--weights-key", evaluated.string() +
                                                    " is a checkpoint of fftrain, which holds one "
                                                    "model; leave it out");
  }
  if (app.count("--weights-key") > 0 && !command.resume_from.empty())
    throw CLI::ExcludesError("--weights-key", "--resume-from");
  if (!evaluated.empty() && ffkit::is_weights_file(checkpoint)) {
    for (const ffkit::Option& option : command.tables.task.options()) {
      if (!option.names_model || app.count("--" + option.name) > 0) continue;
      throw CLI::RequiredError("--" + option.name + " (" + evaluated.string() +
                               " has only weights)");
    }
  }
  command.resume_options.given = ffkit::given_options(app, command);
  // Rank 0 alone may see the checkpoint that says where the data are.
  if (command.options.data.empty() && !command.options.dummy && command.benchmark.empty() &&
      !command.resume) {
    // Where other trainers have a flag, the data set behind it.
    if (ffkit::is_data_set(command.options.pretrained)) {
      throw CLI::ValidationError("--pretrained", command.options.pretrained.string() +
                                                     " is a data set; give a file of weights");
    }
    throw CLI::RequiredError("--data");
  }

  ffkit::ProcessPlace place;
  if (const std::optional<int> status = launch(argc, argv, command, place)) {
    if (*status == 0 && !is_training(command)) ffkit::require_written_stdout();
    return *status;
  }
  try {
    take_whole_data_sets(command, place.rank == 0 && !command.quiet);
    return run_until_stopped(command, place);
  } catch (const ffkit::Error& error) {
    if (error.code() != ffkit::ErrorCode::cancelled) throw;
    fmt::print(stderr, "fftrain: {}\n", error.text(ffkit::OptionStyle::command_line));
    return ffkit::stop_exit_status(ffkit::stop_signal());
  }
}

}  // namespace

int ffkit::run_fftrain(int argc, char** argv) {
  keep_freed_memory();
  occupy_closed_streams();
  raise_open_files_limit();
  TrainCommand command;
  stop_on_signals();
  {
    const Waiting waiting("getting ready", Waiting::kNothingToLose);  // it looks at the data
    set_first_options(argc, argv, command);
  }
  CLI::App app(
      "Trains a task, such as the classification of pictures, on a data set folder. A CHECKPOINT "
      "is a checkpoint file, the folder of a checkpoint in parts, or a work folder. In a work "
      "folder, fftrain takes the newest checkpoint.",
      "fftrain");
  app.set_version_flag("--version", "fftrain " FFKIT_VERSION);
  add_train_options(app, command);
  return run_tool(app, argc, argv, [&] { return run(app, argc, argv, command); });
}
