#include <fmt/format.h>
#include <malloc.h>

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

// Where a run begins.
struct RunStart {
  ChosenCheckpoint from = {};  // without a path: from the beginning; on all ranks
  // The work folder may hold metrics of a run that was ended before its first checkpoint.
  bool may_have_metrics = false;
};

// When nothing can be refused any more.
std::optional<WorkDir> open_work_dir(Communicator& communicator, const fs::path& folder,
                                     const RunStart& start, const ProgressOutput& output) {
  std::optional<WorkDir> work_dir;
  on_rank_0(communicator, [&] {
    start.from.put_damaged_aside(say_on(output.lines));
    if (folder.empty()) return;
    work_dir = start.from.path.empty() ? WorkDir::create(folder, start.may_have_metrics)
                                       : WorkDir::reopen(folder, start.from.path);
  });
  return work_dir;
}

// Until the first step a run that is asked to stop has nothing to lose.
using GettingReady = std::optional<Waiting>;

// Before the run's loaders end, also where the run fails.
struct AtEnd {
  ~AtEnd() {
    if (call) call();
  }
  const std::function<void()>& call;
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

TrainSummary run(const TrainOptions& given, const RunStart& start, const ProgressOutput& output,
                 const RunMesh& mesh, GettingReady& getting_ready) {
  Communicator& communicator = mesh.world();
  const fs::path& checkpoint = start.from.path;
  const TrainOptions options =
      checkpoint.empty() ? with_settings_of(given.pretrained, given, communicator) : given;
  TrainingRun training(options, output, mesh);
  const AtEnd at_end{output.at_end};
  if (checkpoint.empty()) {
    training.begin();
  } else {
    training.restore(checkpoint);
  }
  const std::optional<WorkDir> work_dir =
      open_work_dir(communicator, options.work_dir, start, output);
  getting_ready.reset();
  const TrainSummary s = training.run(work_dir);
  if (communicator.rank() != 0) return s;
  const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
  if (output.json != nullptr) {
    print_summary(output.json, task, s, s.is_stopped ? "stopped" : "done");
    return s;
  }
  if (output.lines == nullptr) return s;
  if (s.is_stopped) {
    fmt::print(output.lines, "stopped on request after {}{}\n", format_duration(s.seconds),
               s.checkpoint.empty()
                   ? options.work_dir.empty() ? "; nothing is kept without --work-dir"
                                              : "; no step was done"
                   : fmt::format("; {} has all state: the same command with --resume continues",
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
  TrainOptions options;
  on_rank_0(communicator,
            [&] { options = with_batch_of(stored, checkpoint, given, world_size, resume); });
  // It is the same for all: what it might throw was thrown.
  options = with_batch_of(stored, checkpoint, given, world_size, resume);
  const bool is_changed = options.global_batch_size != given.global_batch_size;
  if (is_changed && output.lines != nullptr && communicator.rank() == 0) {
    fmt::print(output.lines, "a step takes {} {} as before: each process takes {} instead of {}\n",
               options.global_batch_size,
               TaskRegistry::instance().find(options.task_name()).samples,
               options.resolved(world_size).batch_size * options.accumulate,
               given.batch_size * given.accumulate);
    std::fflush(output.lines);
  }
  return options;
}

// Of a run that goes on, before its steps are looked at.
TrainOptions going_on_options(const CheckpointInfo& stored, const fs::path& checkpoint,
                              const TrainOptions& options, const ResumeOptions& resume) {
  const TrainOptions now =
      resume.given ? with_given(stored.options, options, *resume.given, TaskRegistry::instance())
                   : options;
  require_task(stored, checkpoint, now);
  validate(now);
  return now;
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
    print_summary(output.json, task, summary, "finished");
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
  throw error_of(ErrorCode::invalid_argument, "{} needs a file of weights; give {}{}",
                 option_set("weights_key", options.weights_key), option_name("pretrained"),
                 backbone != nullptr ? " or " + option_name("backbone_weights") : "");
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap, not from mmap(2)
  mallopt(M_TRIM_THRESHOLD, -1);  // and the top of the heap is never returned
  mallopt(M_TOP_PAD, 64 << 20);   // bytes asked for beyond what is needed
#endif
}

TrainSummary train(const TrainOptions& given, const ProgressOutput& output,
                   const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(given);
    GettingReady getting_ready(std::in_place, "getting ready", Waiting::kNothingToLose);
    const TrainOptions options = with_task(given);
    check_weights_key(options);
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    const RunMesh mesh(options, communicator);
    const auto lock = lock_work_dir(communicator, options.work_dir, output);
    return run(options, RunStart(), output, mesh, getting_ready);
  });
}

namespace {

// From `checkpoint`; nothing: from the newest one in the work folder, or from the beginning.
TrainSummary go_on(const TrainOptions& given, const std::optional<fs::path>& checkpoint,
                   const ProgressOutput& output, const ProcessPlace& place,
                   const ResumeOptions& resume) {
  return with_torch_errors([&] {
    if (!resume.given) validate(given);
    GettingReady getting_ready(std::in_place, "getting ready", Waiting::kNothingToLose);
    const TrainOptions options = with_task(given);
    const bool may_begin = !checkpoint;
    if (may_begin && options.work_dir.empty()) {
      throw error_of(ErrorCode::invalid_argument,
                     "a run can continue only in its work folder; give {}",
                     option_name("work_dir"));
    }
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options, may_begin && resume.given ? &*resume.given : nullptr);
    const auto lock = lock_work_dir(communicator, options.work_dir, output);
    // Rank 0 alone may see the folder.
    RunStart start{.may_have_metrics = may_begin};
    std::string info;
    on_rank_0(communicator, [&] {
      const Say say = say_on(output.lines);
      start.from = may_begin ? newest_whole_checkpoint(options.work_dir, say)
                             : choose_checkpoint(*checkpoint, say);
      const fs::path& path = start.from.path;
      if (!path.empty()) info = info_to_text(read_checkpoint_info(path));
      if (may_begin && !path.empty() && output.lines != nullptr)
        fmt::print(output.lines, "continuing from {}\n", path.string());
      if (path.empty() && !start.from.damaged.empty())
        say("all checkpoints are damaged; the run starts from the beginning");
    });
    start.from.path = communicator.broadcast(start.from.path.string());
    info = communicator.broadcast(info);
    const fs::path& file = start.from.path;
    if (file.empty()) {
      if (options.data.empty() && !options.dummy) {
        throw error_at(options.work_dir, ErrorCode::invalid_argument,
                       "has no checkpoint to continue from; give --data to start a run");
      }
      validate(options);
      check_same_options(communicator, options);
      const RunMesh mesh(options, communicator);
      return run(options, start, output, mesh, getting_ready);
    }
    const CheckpointInfo stored = info_from_text(info);
    const TrainOptions now = going_on_options(stored, file, options, resume);
    check_same_options(communicator, now);
    if (may_begin && is_finished(stored, now)) {
      start.from.put_damaged_aside(say_on(output.lines));
      return finished(stored, file, output, communicator.rank());
    }
    const RunMesh mesh(now, communicator);
    return run(resumed_options(stored, file, now, output, mesh, resume), start, output, mesh,
               getting_ready);
  });
}

}  // namespace

TrainSummary resume_training(const TrainOptions& given, const fs::path& checkpoint,
                             const ProgressOutput& output, const ProcessPlace& place,
                             const ResumeOptions& resume) {
  return go_on(given, checkpoint, output, place, resume);
}

TrainSummary train_or_resume(const TrainOptions& given, const ProgressOutput& output,
                             const ProcessPlace& place, const ResumeOptions& resume) {
  return go_on(given, std::nullopt, output, place, resume);
}

TrainOptions read_checkpoint_options(const fs::path& checkpoint) {
  const fs::path file = fs::absolute(resolve_checkpoint(checkpoint));
  TrainOptions options = read_checkpoint_info(file).options;
  options.work_dir = file.parent_path();
  return options;
}

TrainOptions read_evaluation_options(const fs::path& checkpoint) {
  const TrainOptions run = read_checkpoint_options(checkpoint);
  return with_given(run, run, {}, TaskRegistry::instance(), TakenFor::evaluation);
}

std::optional<TrainOptions> read_newest_options(const fs::path& work_dir) {
  std::vector<CheckpointFile> files = list_checkpoints(work_dir);
  for (; !files.empty(); files.pop_back()) {
    try {
      return read_checkpoint_options(files.back().path);
    } catch (const Error& error) {
      // train_or_resume() passes it over, too.
      if (!is_damage(error)) throw;
    }
  }
  return std::nullopt;
}

bool is_weights_file(const fs::path& path) {
  return holds_weights_alone(resolve_checkpoint(path));
}

}  // namespace ffkit
