#include <fmt/format.h>

#include <memory>

#include <ffkit/base/option_names.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/trainer.h>

#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "device/device.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "launch/waiting.h"
#include "options/stored_options.h"
#include "report/progress_json.h"
#include "run_options.h"
#include "training_run.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Held by rank 0; the others have none.
std::unique_ptr<const WorkDirLock> lock_work_dir(Communicator& communicator, const fs::path& folder,
                                                 const ProgressOutput& output) {
  std::unique_ptr<const WorkDirLock> lock;
  if (folder.empty()) return lock;
  on_rank_0(communicator, [&] {
    lock = std::make_unique<const WorkDirLock>(folder);
    if (output.lines != nullptr && !lock->note().empty()) {
      fmt::print(output.lines, "{}: {}\n", folder.string(), lock->note());
    }
  });
  return lock;
}

std::optional<WorkDir> open_work_dir(Communicator& communicator, const fs::path& folder,
                                     const fs::path& checkpoint) {
  std::optional<WorkDir> work_dir;
  if (folder.empty()) return work_dir;
  on_rank_0(communicator, [&] {
    work_dir = checkpoint.empty() ? WorkDir::create(folder) : WorkDir::reopen(folder, checkpoint);
  });
  return work_dir;
}

// Until the first step a run that is asked to stop has nothing to lose.
class GettingReady {
 public:
  void end() { waiting_.reset(); }

 private:
  std::optional<Waiting> waiting_{std::in_place, "getting ready", Waiting::kNothingToLose};
};

// "best top-1 61.90 % (epoch 15), last 61.20 %; ".
std::string best_and_last_text(const TaskEntry& task, const TrainSummary& s) {
  const MetricInfo& metric = task.best_metric();
  std::string last =
      s.last.has_value(metric.name)
          ? fmt::format(", last {:.{}f}{}{}", metric.scale * s.last.value(metric.name),
                        metric.digits, metric.unit.empty() ? "" : " ", metric.unit)
          : "";
  return fmt::format("{}{}; ", best_text(task, s.best, s.best_epoch), last);
}

EndOfRun end_of_run(const TaskEntry& task, const TrainSummary& s, const std::string& state) {
  return {.state = state,
          .epochs_done = s.epochs_done,
          .best_metric = task.best,
          .best = s.best,
          .best_epoch = s.best_epoch,
          .last = s.last,
          .units_per_second = s.units_per_second,
          .data_wait_share = s.data_wait_share,
          .seconds = s.seconds,
          .checkpoint = s.checkpoint.string(),
          .units = task.units};
}

// `checkpoint` empty: from the beginning.
TrainSummary run(const TrainOptions& given, const fs::path& checkpoint,
                 const ProgressOutput& output, const RunMesh& mesh, GettingReady& getting_ready) {
  Communicator& communicator = mesh.world();
  const TrainOptions options =
      checkpoint.empty() ? with_settings_of(given.pretrained, given, communicator) : given;
  TrainingRun training(options, output, mesh);
  training.print_notes();
  if (checkpoint.empty()) {
    training.begin();
  } else {
    training.restore(checkpoint);
  }
  const std::optional<WorkDir> work_dir = open_work_dir(communicator, options.work_dir, checkpoint);
  getting_ready.end();
  const TrainSummary s = training.run(work_dir);
  if (communicator.rank() != 0) return s;
  const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
  if (output.json != nullptr) {
    print_progress(output.json,
                   progress_json(end_of_run(task, s, s.is_stopped ? "stopped" : "done")));
    return s;
  }
  if (output.lines == nullptr) return s;
  if (s.is_stopped) {
    fmt::print(output.lines, "stopped when asked to, after {}{}\n", format_duration(s.seconds),
               s.checkpoint.empty()
                   ? "; nothing is kept without --work-dir"
                   : fmt::format("; {} holds everything: the same command with --resume continues",
                                 s.checkpoint.string()));
  } else {
    const std::string rate = throughput_text(s.units_per_second, task.units, s.data_wait_share);
    fmt::print(output.lines, "{}{}; {} in all{}{}\n",
               options.dummy ? "" : best_and_last_text(task, s),
               rate.empty() ? fmt::format("too few steps to measure {}/s", task.units) : rate,
               format_duration(s.seconds), s.checkpoint.empty() ? "" : "; ", s.checkpoint.string());
  }
  std::fflush(output.lines);
  return s;
}

// As with_batch_of(), which it says on output.lines when the processes' shares are others than
// before.
TrainOptions resumed_options(const CheckpointInfo& stored, const fs::path& checkpoint,
                             const TrainOptions& given, const ProgressOutput& output,
                             const RunMesh& mesh, const ResumeOptions& resume) {
  Communicator& communicator = mesh.world();
  const int world_size = mesh.data().world_size();
  require_task(stored, checkpoint, given);
  TrainOptions options;
  on_rank_0(communicator,
            [&] { options = with_batch_of(stored, checkpoint, given, world_size, resume); });
  // It is the same for all: what it might throw was thrown.
  options = with_batch_of(stored, checkpoint, given, world_size, resume);
  const bool is_changed = options.global_batch_size != given.global_batch_size;
  if (is_changed && output.lines != nullptr && communicator.rank() == 0) {
    fmt::print(output.lines, "a step takes {} {} as before, {} a process instead of {}\n",
               options.global_batch_size,
               TaskRegistry::instance().find(options.task_name()).samples,
               options.resolved(world_size).batch_size * options.accumulate,
               given.batch_size * given.accumulate);
    std::fflush(output.lines);
  }
  return options;
}

// What a checkpoint says of the run that it ended, for a run that has nothing left to do.
TrainSummary finished(const CheckpointInfo& info, const fs::path& checkpoint,
                      const ProgressOutput& output, int rank) {
  TrainSummary summary;
  summary.best = info.best;
  summary.best_epoch = info.best_epoch;
  if (rank != 0) return summary;
  summary.checkpoint = checkpoint;
  const TaskEntry& task = TaskRegistry::instance().find(info.options.task_name());
  if (output.json != nullptr) {
    print_progress(output.json, progress_json(end_of_run(task, summary, "finished")));
  } else if (output.lines != nullptr) {
    fmt::print(output.lines, "the run is finished: {} epochs, {}; {}\n", info.epochs_done,
               best_text(task, info.best, info.best_epoch), checkpoint.string());
    std::fflush(output.lines);
  }
  return summary;
}

// Throws where there is no file of weights in which it could choose.
void check_weights_key(const TrainOptions& options) {
  if (options.weights_key.empty() || !options.pretrained.empty()) return;
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  const Option* backbone = tables.task.find("backbone-weights");
  if (backbone != nullptr && !backbone->text().empty()) return;
  throw error_of(ErrorCode::invalid_argument,
                 "{} chooses in a file of weights, and there is none; give {}{}",
                 option_set("weights_key", options.weights_key), option_name("pretrained"),
                 backbone != nullptr ? " or " + option_name("backbone_weights") : "");
}

}  // namespace

TrainSummary train(const TrainOptions& given, const ProgressOutput& output,
                   const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(given);
    const TrainOptions options = with_task(given);
    check_weights_key(options);
    GettingReady getting_ready;
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    const RunMesh mesh(options, communicator);
    const auto lock = lock_work_dir(communicator, options.work_dir, output);
    return run(options, {}, output, mesh, getting_ready);
  });
}

TrainSummary resume_training(const TrainOptions& given, const fs::path& checkpoint,
                             const ProgressOutput& output, const ProcessPlace& place,
                             const ResumeOptions& resume) {
  return with_torch_errors([&] {
    validate(given);
    const TrainOptions options = with_task(given);
    GettingReady getting_ready;
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    const RunMesh mesh(options, communicator);
    const auto lock = lock_work_dir(communicator, options.work_dir, output);
    fs::path file = checkpoint;
    std::string info;
    on_rank_0(communicator, [&] {
      file = resolve_checkpoint(checkpoint);
      info = info_to_text(read_checkpoint_info(file));
    });
    file = communicator.broadcast(file.string());
    const CheckpointInfo stored = info_from_text(communicator.broadcast(info));
    return run(resumed_options(stored, file, options, output, mesh, resume), file, output, mesh,
               getting_ready);
  });
}

TrainSummary train_or_resume(const TrainOptions& given, const ProgressOutput& output,
                             const ProcessPlace& place, const ResumeOptions& resume) {
  return with_torch_errors([&] {
    validate(given);
    const TrainOptions options = with_task(given);
    GettingReady getting_ready;
    if (options.work_dir.empty()) {
      throw error_of(ErrorCode::invalid_argument,
                     "to continue a run needs its work folder; give {}", option_name("work_dir"));
    }
    Communicator communicator(place, prepare_device(options, place));
    const std::vector<std::string>* own = resume.given ? &*resume.given : nullptr;
    check_same_options(communicator, options, own);
    const auto lock = lock_work_dir(communicator, options.work_dir, output);
    // Rank 0 alone may see the folder.
    std::string file, info;
    on_rank_0(communicator, [&] {
      const auto say = [&output](const std::string& sentence) {
        if (output.lines != nullptr) fmt::print(output.lines, "{}\n", sentence);
      };
      const std::optional<fs::path> newest = newest_whole_checkpoint(options.work_dir, say);
      if (!newest) {
        // A run that was ended before its first checkpoint has left metrics at most.
        WorkDir::forget_metrics(options.work_dir);
        return;
      }
      file = newest->string();
      info = info_to_text(read_checkpoint_info(*newest));
      say(fmt::format("going on from {}", file));
    });
    file = communicator.broadcast(file);
    info = communicator.broadcast(info);
    if (file.empty()) {
      if (options.data.empty() && !options.dummy) {
        throw error_at(options.work_dir, ErrorCode::invalid_argument,
                       "has no checkpoint to go on from, and no data were named to begin with");
      }
      check_same_options(communicator, options);
      const RunMesh mesh(options, communicator);
      return run(options, file, output, mesh, getting_ready);
    }
    const CheckpointInfo stored = info_from_text(info);
    const TrainOptions now =
        own ? with_given(stored.options, options, *own, TaskRegistry::instance()) : options;
    require_task(stored, file, now);
    validate(now);
    check_same_options(communicator, now);
    if (is_finished(stored, now)) return finished(stored, file, output, communicator.rank());
    const RunMesh mesh(now, communicator);
    return run(resumed_options(stored, file, now, output, mesh, resume), file, output, mesh,
               getting_ready);
  });
}

TrainOptions read_checkpoint_options(const fs::path& checkpoint) {
  const fs::path file = fs::absolute(resolve_checkpoint(checkpoint));
  TrainOptions options = read_checkpoint_info(file).options;
  options.work_dir = file.parent_path();
  return options;
}

std::optional<TrainOptions> read_newest_options(const fs::path& work_dir) {
  std::vector<CheckpointFile> files = list_checkpoints(work_dir);
  for (; !files.empty(); files.pop_back()) {
    try {
      return read_checkpoint_options(files.back().path);
    } catch (const Error& error) {
      // train_or_resume() passes it over, too.
      if (error.code() != ErrorCode::corrupt) throw;
    }
  }
  return std::nullopt;
}

bool is_weights_file(const fs::path& path) {
  return holds_weights_alone(resolve_checkpoint(path));
}

}  // namespace ffkit
