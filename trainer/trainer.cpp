#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/trainer/trainer.h>

#include "checkpoint.h"
#include "model_factory.h"
#include "model_registry.h"
#include "training_run.h"
#include "validation.h"
#include "weights.h"
#include "work_dir.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// Runs `body`; what libtorch throws leaves as an ffkit::Error of one sentence, without its backtrace.
template <typename Body>
auto with_torch_errors(Body body) {
  try {
    return body();
  } catch (const c10::Error& e) {
    std::string message = e.what_without_backtrace();
    message = message.substr(0, message.find('\n'));
    throw Error(ErrorCode::invalid_argument, "libtorch refused: " + message);
  }
}

TrainSummary run(TrainingRun& run, const std::optional<WorkDir>& work_dir,
                 const ProgressOutput& output) {
  const TrainSummary s = run.run(work_dir);
  if (output.lines != nullptr) {
    fmt::print(output.lines,
               "best top-1 {:.2f} % (epoch {}), last {:.2f} %; {:.0f} images/s, data wait {:.1f} "
               "%; {} in all{}{}\n",
               100 * s.best_top1, s.best_epoch, 100 * s.last.top1, s.images_per_second,
               100 * s.data_wait_share, format_duration(s.seconds),
               s.checkpoint.empty() ? "" : "; ", s.checkpoint.string());
    std::fflush(output.lines);
  }
  return s;
}

EvalResult evaluate_checkpoint(const TrainOptions& options, const fs::path& file) {
  const std::vector<std::string> classes = read_checkpoint_info(file).classes;
  const auto num_classes = int64_t(classes.size());
  DataSource val(open_val(options.data, classes), val_loader_options(options, ProcessContext{}),
                 num_classes, options.limit_batches);
  const std::unique_ptr<Model> model = make_model(options, num_classes);
  load_checkpoint(file, *model, nullptr);
  return validate_model(*model, val);
}

EvalResult evaluate_weights(const TrainOptions& options, const fs::path& file) {
  const ModelEntry& entry = ModelRegistry::instance().find(options.arch);
  const Weights weights = read_weights(file);
  const int64_t classes = num_classes(weights, entry);
  Dataset data = Dataset::open(options.data, "val");
  const size_t data_classes = data.manifest().classes.size();
  if (data_classes != 0 && int64_t(data_classes) != classes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("its {} classes are not the {} of the data set {}", classes,
                            data_classes, options.data.string()),
                {.path = file.string()});
  }
  DataSource val(std::move(data), val_loader_options(options, ProcessContext{}), classes,
                 options.limit_batches);
  const std::unique_ptr<Model> model = make_model(options, classes);
  load_weights(weights, entry, *model, HeadPolicy::must_fit);
  return validate_model(*model, val);
}

}  // namespace

TrainSummary train(const TrainOptions& options, const ProgressOutput& output) {
  return with_torch_errors([&] {
    validate(options);
    TrainingRun training(options, output, ProcessContext{});
    if (!options.pretrained.empty()) training.load_pretrained();
    std::optional<WorkDir> work_dir;
    if (!options.work_dir.empty()) work_dir = WorkDir::create(options.work_dir);
    return run(training, work_dir, output);
  });
}

TrainSummary resume_training(const TrainOptions& options, const fs::path& checkpoint,
                             const ProgressOutput& output) {
  return with_torch_errors([&] {
    validate(options);
    const fs::path file = resolve_checkpoint(checkpoint);
    TrainingRun training(options, output, ProcessContext{});
    training.restore(file);
    std::optional<WorkDir> work_dir;
    if (!options.work_dir.empty()) work_dir = WorkDir::reopen(options.work_dir, file);
    return run(training, work_dir, output);
  });
}

EvalResult evaluate(const TrainOptions& options, const fs::path& checkpoint,
                    const ProgressOutput& output) {
  return with_torch_errors([&] {
    validate(options);
    const fs::path file = resolve_checkpoint(checkpoint);
    const EvalResult result = holds_weights_alone(file) ? evaluate_weights(options, file)
                                                        : evaluate_checkpoint(options, file);
    if (output.lines != nullptr) {
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
