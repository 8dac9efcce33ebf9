#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/trainer/trainer.h>

#include "checkpoint.h"
#include "communicator.h"
#include "device.h"
#include "model_factory.h"
#include "model_registry.h"
#include "same_run.h"
#include "torch_errors.h"
#include "training_run.h"
#include "validation.h"
#include "weights.h"
#include "work_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

std::optional<WorkDir> open_work_dir(Communicator& communicator, const fs::path& folder,
                                     const fs::path& checkpoint) {
  std::optional<WorkDir> work_dir;
  if (folder.empty()) return work_dir;
  on_rank_0(communicator, [&] {
    work_dir = checkpoint.empty() ? WorkDir::create(folder) : WorkDir::reopen(folder, checkpoint);
  });
  return work_dir;
}

// `checkpoint` empty: from the beginning.
TrainSummary run(const TrainOptions& options, const fs::path& checkpoint,
                 const ProgressOutput& output, Communicator& communicator) {
  TrainingRun training(options, output, communicator);
  if (!checkpoint.empty()) {
    training.restore(checkpoint);
  } else if (!options.pretrained.empty()) {
    training.load_pretrained();
  }
  const std::optional<WorkDir> work_dir = open_work_dir(communicator, options.work_dir, checkpoint);
  const TrainSummary s = training.run(work_dir);
  if (output.lines == nullptr || communicator.rank() != 0) return s;
  if (s.is_stopped) {
    fmt::print(output.lines, "stopped when asked to, after {}{}\n", format_duration(s.seconds),
               s.checkpoint.empty()
                   ? "; nothing is kept without --work-dir"
                   : fmt::format("; {} holds everything: --auto-resume or --resume goes on",
                                 s.checkpoint.string()));
  } else {
    const std::string best = options.dummy
                                 ? ""
                                 : fmt::format("best top-1 {:.2f} % (epoch {}), last {:.2f} %; ",
                                               100 * s.best_top1, s.best_epoch, 100 * s.last.top1);
    const std::string rate = throughput_text(s.images_per_second, s.data_wait_share);
    fmt::print(output.lines, "{}{}; {} in all{}{}\n", best,
               rate.empty() ? "too few steps to measure images/s" : rate,
               format_duration(s.seconds), s.checkpoint.empty() ? "" : "; ", s.checkpoint.string());
  }
  std::fflush(output.lines);
  return s;
}

// What a checkpoint says of the run that it ended, for a run that has nothing left to do.
TrainSummary finished(const CheckpointInfo& info, const fs::path& checkpoint,
                      const ProgressOutput& output, int rank) {
  TrainSummary summary;
  summary.best_top1 = info.best_top1;
  summary.best_epoch = info.best_epoch;
  if (rank != 0) return summary;
  summary.checkpoint = checkpoint;
  if (output.lines != nullptr) {
    fmt::print(output.lines, "the run is finished: {} epochs, best top-1 {:.2f} % (epoch {}); {}\n",
               info.epochs_done, 100 * info.best_top1, info.best_epoch, checkpoint.string());
    std::fflush(output.lines);
  }
  return summary;
}

EvalResult evaluate_model(const TrainOptions& options, Model& model, DataSource& val,
                          Communicator& communicator) {
  communicator.broadcast(model_state(model));
  return validate_model(model, val, options.amp, communicator);
}

EvalResult evaluate_checkpoint(const TrainOptions& given, const fs::path& file,
                               Communicator& communicator) {
  std::string info;
  on_rank_0(communicator, [&] { info = info_to_text(read_checkpoint_info(file)); });
  const CheckpointInfo stored = info_from_text(communicator.broadcast(info));
  const auto num_classes = int64_t(stored.classes.size());
  const TrainOptions options = given.resolved(communicator.world_size());
  DataSource val(open_val(options.data, stored.classes),
                 val_loader_options(options, communicator.place(), communicator.device()),
                 num_classes, options.limit_batches, communicator.device());
  const std::unique_ptr<Model> model = make_model(options, num_classes, communicator);
  on_rank_0(communicator, [&] { load_checkpoint(file, evaluated_state(*model, stored.options)); });
  return evaluate_model(options, *model, val, communicator);
}

EvalResult evaluate_weights(const TrainOptions& given, const fs::path& file,
                            Communicator& communicator) {
  const TrainOptions options = given.resolved(communicator.world_size());
  const ModelEntry& entry = ModelRegistry::instance().find(options.arch);
  Weights weights;
  std::string classes_text;
  Dataset data = Dataset::open(options.data, "val");
  on_rank_0(communicator, [&] {
    weights = read_weights(file);
    const int64_t classes = num_classes(weights, entry);
    const size_t data_classes = data.manifest().classes.size();
    if (data_classes != 0 && int64_t(data_classes) != classes) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("its {} classes are not the {} of the data set {}", classes,
                              data_classes, options.data.string()),
                  {.path = file.string()});
    }
    classes_text = std::to_string(classes);
  });
  const int64_t classes = std::stoll(communicator.broadcast(classes_text));
  DataSource val(std::move(data),
                 val_loader_options(options, communicator.place(), communicator.device()), classes,
                 options.limit_batches, communicator.device());
  const std::unique_ptr<Model> model = make_model(options, classes, communicator);
  on_rank_0(communicator, [&] { load_weights(weights, entry, *model, HeadPolicy::must_fit); });
  return evaluate_model(options, *model, val, communicator);
}

}  // namespace

TrainSummary train(const TrainOptions& options, const ProgressOutput& output,
                   const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    return run(options, {}, output, communicator);
  });
}

TrainSummary resume_training(const TrainOptions& options, const fs::path& checkpoint,
                             const ProgressOutput& output, const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    fs::path file = checkpoint;
    on_rank_0(communicator, [&] { file = resolve_checkpoint(checkpoint); });
    return run(options, file, output, communicator);
  });
}

TrainSummary train_or_resume(const TrainOptions& options, const ProgressOutput& output,
                             const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    if (options.work_dir.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "going on by itself needs a work folder; give --work-dir");
    }
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
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
    if (!file.empty()) {
      const CheckpointInfo stored = info_from_text(info);
      if (stored.epochs_done >= options.epochs)
        return finished(stored, file, output, communicator.rank());
    }
    return run(options, file, output, communicator);
  });
}

EvalResult evaluate(const TrainOptions& options, const fs::path& checkpoint,
                    const ProgressOutput& output, const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(options);
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    fs::path file = checkpoint;
    bool is_alone = false;
    on_rank_0(communicator, [&] {
      file = resolve_checkpoint(checkpoint);
      is_alone = holds_weights_alone(file);
    });
    is_alone = communicator.broadcast(std::string(is_alone ? "alone" : "")) == "alone";
    const EvalResult result = is_alone ? evaluate_weights(options, file, communicator)
                                       : evaluate_checkpoint(options, file, communicator);
    if (output.lines != nullptr && communicator.rank() == 0) {
      fmt::print(output.lines, "val loss {:.4f}  top-1 {:.2f} %  top-5 {:.2f} %  {} images\n",
                 result.loss, 100 * result.top1, 100 * result.top5, result.num_images);
      std::fflush(output.lines);
    }
    return result;
  });
}

TrainOptions read_checkpoint_options(const fs::path& checkpoint) {
  const fs::path file = fs::absolute(resolve_checkpoint(checkpoint));
  TrainOptions options = read_checkpoint_info(file).options;
  options.work_dir = file.parent_path();
  return options;
}

bool is_weights_file(const fs::path& path) {
  return holds_weights_alone(path);
}

void export_weights(const fs::path& from, const fs::path& to) {
  with_torch_errors([&] { write_weights(read_weights(resolve_checkpoint(from)), to); });
}

}  // namespace ffkit
