// Evaluation and prediction: evaluate() and predict(), and the validation of a training.
#include "evaluate.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/trainer/task.h>
#include <ffkit/trainer/trainer.h>

#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "device/device.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "launch/waiting.h"
#include "report/progress_json.h"
#include "run_options.h"
#include "step/trained_model.h"
#include "step/whole_state.h"

namespace ffkit {

std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         const RunMesh& mesh, const PredictionFiles& files) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  const std::unique_ptr<Evaluation> evaluation = task.evaluation();
  if (!files.results.empty() || !files.confusion.empty()) evaluation->keep_predictions();
  StopVote vote(mesh.world());
  source.start_epoch(0);
  // Those that compute a network together leave at the same batch.
  const auto is_stopped = [&] {
    return mesh.same_data().sum(std::vector<double>{vote.is_stopped() ? 1.0 : 0.0})[0] > 0;
  };
  while (!is_stopped()) {
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) break;
    const Autocast autocast(amp, mesh.world().device());
    evaluation->add(*batch);
  }
  model.set_training(true);
  // Some may have been done before they heard of it.
  if (vote.close()) return std::nullopt;
  CommunicatorPeers peers(mesh.data());
  EvalResult result = evaluation->finish(peers);
  if (result.diverged.empty() && result.has_value("loss") && !std::isfinite(result.value("loss")))
    result.diverged = fmt::format("the loss of the validation is {}",
                                  std::isnan(result.value("loss")) ? "nan" : "inf");
  if (!result.diverged.empty()) return result;  // whose results nobody wants
  if (!result.no_metrics.empty() && files.results.empty()) {
    throw error_of(ErrorCode::invalid_argument, "{}; {} with {} writes what is found in it",
                   result.no_metrics, option_name("evaluate"), option_set("results", "FILE"));
  }
  on_rank_0(mesh.world(), [&] {
    if (!files.results.empty()) evaluation->write_results(files.results);
    if (files.confusion.empty()) return;
    const std::string table = evaluation->write_confusion(files.confusion);
    if (files.lines != nullptr) fmt::print(files.lines, "{}", table);
  });
  return result;
}

namespace {

namespace fs = std::filesystem;

enum class Purpose { evaluation, prediction };

std::unique_ptr<BatchSource> batches_for(Task& task, Purpose purpose) {
  return purpose == Purpose::prediction ? task.prediction_batches() : task.validation_batches();
}

// No process waits for another's batch, so shares need not be even: batches are at most as large as
// training's.
TrainOptions evaluation_options(TrainOptions options, int world_size) {
  if (options.global_batch_size > 0) {
    options.batch_size = std::max<int64_t>(
        1, options.global_batch_size / (int64_t{world_size} * options.accumulate));
  }
  return options;
}

// `weights`: the file that they are of.
EvalResult evaluate_model(const TrainOptions& options, Task& task, Model& model, BatchSource& val,
                          const RunMesh& mesh, const PredictionFiles& files,
                          const fs::path& weights) {
  const std::optional<EvalResult> result =
      validate_model(task, model, val, options.amp, mesh, files);
  if (!result)
    throw Error(ErrorCode::cancelled, "stopped when asked to, before the validation was over");
  const TaskEntry& entry = TaskRegistry::instance().find(options.task_name());
  std::string wrong = result->diverged;
  if (wrong.empty() && result->has_value(entry.best) && !std::isfinite(result->value(entry.best))) {
    wrong = fmt::format("the validation gave {}, which is no number",
                        metric_text(entry.best_metric(), result->value(entry.best)));
  }
  if (!wrong.empty()) throw error_at(weights, ErrorCode::invalid_argument, wrong);
  return *result;
}

EvalResult evaluate_checkpoint(const TrainOptions& given, const fs::path& file, const RunMesh& mesh,
                               const PredictionFiles& files, Purpose purpose) {
  Communicator& communicator = mesh.world();
  std::string info;
  on_rank_0(communicator, [&] { info = info_to_text(read_checkpoint_info(file)); });
  const CheckpointInfo stored = info_from_text(communicator.broadcast(info));
  const TrainOptions options = evaluation_options(given, mesh.data().world_size());
  require_task(stored, file, options);
  const std::unique_ptr<Task> task = make_task(options, mesh);
  task->set_facts(stored.facts);
  const std::unique_ptr<BatchSource> val = batches_for(*task, purpose);
  Model& model = make_model(*task, options, communicator);
  std::vector<NamedTensor> own = evaluated_state(model, stored.options);
  append_with_prefix("task.", task->state(), own);
  WholeState(mesh, task->parts()).load_checkpoint(file, own);
  return evaluate_model(options, *task, model, *val, mesh, files, file);
}

EvalResult evaluate_weights(const TrainOptions& given, const fs::path& file, const RunMesh& mesh,
                            const PredictionFiles& files, Purpose purpose,
                            const ProgressOutput& output) {
  Communicator& communicator = mesh.world();
  const TrainOptions options =
      with_settings_of(file, evaluation_options(given, mesh.data().world_size()), communicator);
  const std::unique_ptr<Task> task = make_task(options, mesh);
  Weights weights;
  CheckpointInfo info{.options = options};
  std::string facts;
  on_rank_0(communicator, [&] {
    weights = read_weights(file, options.weights_key);
    info.facts = task->facts_of_weights(weights.tensors, file);
    facts = info_to_text(info);
  });
  task->set_facts(info_from_text(communicator.broadcast(facts)).facts);
  const std::unique_ptr<BatchSource> val = batches_for(*task, purpose);
  Model& model = make_model(*task, options, communicator);
  std::vector<std::string> notes = std::move(weights.notes);
  WholeState(mesh, task->parts())
      .load(weights, task->weight_rules(), model, HeadPolicy::must_fit, &notes);
  if (output.lines != nullptr && communicator.rank() == 0) {
    for (const std::string& note : notes_of(file, notes)) fmt::print(output.lines, "{}\n", note);
  }
  mesh.world().broadcast(task->state());
  return evaluate_model(options, *task, model, *val, mesh, files, file);
}

EvalResult evaluate_for(Purpose purpose, const TrainOptions& given, const fs::path& checkpoint,
                        const ProgressOutput& output, const ProcessPlace& place) {
  return with_torch_errors([&] {
    validate(given);
    const TrainOptions options = with_task(given);
    const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
    if (!output.results.empty() && task.results.empty()) {
      throw error_of(ErrorCode::unsupported, "the task {} writes no results; leave {} out",
                     task.name, option_name("results"));
    }
    if (!output.results.empty() && options.data.are_several()) {
      throw error_of(ErrorCode::unsupported,
                     "results are of one data set, and {} were given ({}); evaluate each by itself",
                     options.data.folders().size(), options.data.string());
    }
    if (!output.confusion.empty() && !task.has_confusion) {
      throw error_of(ErrorCode::unsupported,
                     "the task {} has no classes, and so no confusion matrix", task.name);
    }
    const Waiting waiting("validating", Waiting::kNothingToLose);
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    const RunMesh mesh(options, communicator);
    fs::path file = checkpoint;
    bool is_alone = false;
    on_rank_0(communicator, [&] {
      file = resolve_checkpoint(checkpoint);
      is_alone = holds_weights_alone(file);
    });
    file = communicator.broadcast(file.string());
    is_alone = communicator.broadcast(std::string(is_alone ? "alone" : "")) == "alone";
    const PredictionFiles files{.results = output.results,
                                .confusion = output.confusion,
                                .lines = output.json == nullptr ? output.lines : nullptr};
    const EvalResult result = is_alone
                                  ? evaluate_weights(options, file, mesh, files, purpose, output)
                                  : evaluate_checkpoint(options, file, mesh, files, purpose);
    if (output.json != nullptr && communicator.rank() == 0) {
      print_progress(output.json, progress_json(result, task.units));
    } else if (output.lines != nullptr && communicator.rank() == 0) {
      if (result.no_metrics.empty()) {
        fmt::print(output.lines, "val {}  {} {}\n", metrics_text(task.metrics, result),
                   result.count, task.units);
      } else {
        fmt::print(output.lines, "{}, so there is no metric; the results of {} {} are in {}\n",
                   result.no_metrics, result.count, task.units, output.results.string());
      }
      std::fflush(output.lines);
    }
    return result;
  });
}

}  // namespace

EvalResult evaluate(const TrainOptions& options, const fs::path& checkpoint,
                    const ProgressOutput& output, const ProcessPlace& place) {
  return evaluate_for(Purpose::evaluation, options, checkpoint, output, place);
}

EvalResult predict(const TrainOptions& options, const fs::path& checkpoint,
                   const ProgressOutput& output, const ProcessPlace& place) {
  if (output.results.empty()) {
    throw Error(ErrorCode::invalid_argument, "predictions need a file to be written to");
  }
  return evaluate_for(Purpose::prediction, options, checkpoint, output, place);
}

}  // namespace ffkit
