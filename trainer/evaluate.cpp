// Evaluation and prediction: evaluate() and predict(), and the validation of a training.
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_names.h>
#include <ffkit/trainer/trainer.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weights.h"
#include "checkpoint/work_dir.h"
#include "device/device.h"
#include "distributed/communicator.h"
#include "launch/waiting.h"
#include "options/stored_options.h"
#include "run_options.h"
#include "run_report.h"
#include "step/training_step.h"
#include "step/whole_state.h"
#include "training_run.h"

namespace ffkit {

std::optional<EvalResult> validate_model(Task& task, Model& model, BatchSource& source, Amp amp,
                                         const RunMesh& mesh, const ProgressOutput* output) {
  static const ProgressOutput kNothing;
  const ProgressOutput& files = output == nullptr ? kNothing : *output;
  at::NoGradGuard no_grad;
  model.set_training(false);
  const std::unique_ptr<Evaluation> evaluation = task.evaluation();
  if (!files.results.empty() || !files.confusion.empty()) evaluation->keep_predictions();
  source.set_epoch(0);
  // Those that compute a network together leave at the same batch.
  const auto is_stopped = [&] {
    source.wait_for_batch();
    const double asked = mesh.world().is_stop_requested() ? 1 : 0;
    return mesh.same_data().sum(std::vector<double>{asked})[0] > 0;
  };
  std::vector<double> counts(2);  // of batches with samples, and without
  while (!is_stopped()) {
    const std::optional<DeviceBatch> batch = source.next();
    if (!batch) break;
    ++counts[batch->size > 0 ? 0 : 1];
    if (batch->size == 0) continue;  // all of its records are bad, and left out
    const Autocast autocast(amp, mesh.world().device());
    evaluation->add(*batch);
  }
  model.set_training(true);
  // A process may have been done before it heard of the request.
  const double asked = mesh.world().is_stop_requested() ? 1 : 0;
  if (mesh.world().sum(std::vector<double>{asked})[0] > 0) return std::nullopt;
  counts = mesh.data().sum(counts);
  if (counts[0] == 0 && counts[1] > 0) {
    throw Error(ErrorCode::corrupt, "all samples to evaluate are bad; see the warnings");
  }
  CommunicatorPeers peers(mesh.data());
  EvalResult result = evaluation->finish(peers);
  if (result.diverged.empty() && result.has_value("loss") && !std::isfinite(result.value("loss")))
    result.diverged = fmt::format("the loss of the validation is {}",
                                  std::isnan(result.value("loss")) ? "nan" : "inf");
  if (!result.diverged.empty()) return result;  // whose results nobody wants
  if (!result.no_metrics.empty() && files.results.empty()) {
    throw error_of(ErrorCode::invalid_argument, "{}; give {} with {} to write the predictions",
                   result.no_metrics, option_name("evaluate"), option_set("results", "FILE"));
  }
  on_rank_0(mesh.world(), [&] {
    if (!files.results.empty()) evaluation->write_results(files.results);
    if (files.confusion.empty()) return;
    const std::string table = evaluation->write_confusion(files.confusion);
    if (files.json == nullptr && files.lines != nullptr) fmt::print(files.lines, "{}", table);
  });
  return result;
}

namespace {

namespace fs = std::filesystem;

enum class Purpose { evaluation, prediction };

// No process waits for another's batch, so shares need not be even: batches are at most as large as
// training's.
TrainOptions evaluation_options(TrainOptions options, int world_size) {
  if (options.global_batch_size > 0) {
    options.batch_size = std::max<int64_t>(
        1, options.global_batch_size / (int64_t{world_size} * options.accumulate));
  }
  return options;
}

// `stored`: what the checkpoint `file` says; null: it holds weights alone.
EvalResult evaluate_file(const TrainOptions& given, const CheckpointInfo* stored,
                         const fs::path& file, const RunMesh& mesh, Purpose purpose,
                         const ProgressOutput& output) {
  Communicator& communicator = mesh.world();
  TrainOptions options = evaluation_options(given, mesh.data().world_size());
  if (stored == nullptr) options = with_settings_of(file, options, communicator);
  const std::unique_ptr<Task> task = make_task(options, mesh);
  Weights weights;
  std::string info;
  if (stored == nullptr) {
    on_rank_0(communicator, [&] {
      weights = read_weights(file, options.weights_key);
      info = info_to_text(
          {.options = options, .facts = task->facts_of_weights(weights.tensors, file)});
    });
    info = communicator.broadcast(info);
  }
  task->set_facts(stored != nullptr ? stored->facts : info_from_text(info).facts);
  const std::unique_ptr<BatchSource> val =
      purpose == Purpose::prediction ? task->prediction_batches() : task->validation_batches();
  Model& model = make_model(*task, options, communicator);
  const WholeState whole(mesh, task->parts());
  if (stored != nullptr) {
    std::vector<NamedTensor> own = evaluated_state(model, stored->options);
    append_with_prefix("task.", task->state(), own);
    whole.load_checkpoint(file, own);
  } else {
    std::vector<std::string> notes = std::move(weights.notes);
    whole.load(weights, task->weight_rules(), model, HeadPolicy::must_fit, &notes);
    if (output.lines != nullptr && communicator.rank() == 0) {
      for (const std::string& note : notes_of(file, notes)) fmt::print(output.lines, "{}\n", note);
    }
    communicator.broadcast(task->state());
  }
  const std::optional<EvalResult> result =
      validate_model(*task, model, *val, options.amp, mesh, &output);
  if (!result) throw Error(ErrorCode::cancelled, "stopped on request before the validation ended");
  const TaskEntry& entry = TaskRegistry::instance().find(options.task_name());
  std::string wrong = result->diverged;
  if (wrong.empty() && result->has_value(entry.best) && !std::isfinite(result->value(entry.best))) {
    wrong = fmt::format("the validation gave {}, which is not a number",
                        metric_text(entry.best_metric(), result->value(entry.best)));
  }
  if (!wrong.empty()) throw error_at(file, ErrorCode::invalid_argument, wrong);
  return *result;
}

void require_ending(const fs::path& file, const std::vector<std::string>& endings) {
  const std::string own = file.extension().string();
  if (endings.empty() || std::ranges::find(endings, own) != endings.end()) return;
  throw error_at(file, ErrorCode::invalid_argument, "must end in {}", fmt::join(endings, " or "));
}

// What can be said of the files before there is something to write.
void check_files(const TaskEntry& task, const TrainOptions& options, const ProgressOutput& output,
                 Purpose purpose) {
  if (!output.results.empty()) {
    if (task.results.empty() && purpose == Purpose::prediction) {
      throw error_of(ErrorCode::unsupported, "the task {} makes no predictions{}{}", task.name,
                     task.predicted_by.empty() ? "" : "; ", task.predicted_by);
    }
    if (task.results.empty()) {
      throw error_of(ErrorCode::unsupported, "the task {} writes no results; leave {} out",
                     task.name, option_name("results"));
    }
    if (options.data.are_several()) {
      throw error_of(ErrorCode::unsupported,
                     "results belong to one data set, but {} were given ({}); evaluate each alone",
                     options.data.folders().size(), options.data.string());
    }
    require_ending(output.results, task.result_endings);
    require_place_for_file(output.results);
  }
  if (!output.confusion.empty()) {
    if (output.confusion == output.results) {
      throw error_at(output.confusion, ErrorCode::invalid_argument,
                     "is also the file for the results; give another file");
    }
    if (task.confusion_endings.empty()) {
      throw error_of(ErrorCode::unsupported,
                     "the task {} has no classes, so it has no confusion matrix", task.name);
    }
    require_ending(output.confusion, task.confusion_endings);
    require_place_for_file(output.confusion);
  }
}

EvalResult evaluate_for(Purpose purpose, const TrainOptions& asked, const fs::path& checkpoint,
                        const ProgressOutput& output, const ProcessPlace& place,
                        const std::optional<std::vector<std::string>>& given) {
  return with_torch_errors([&] {
    if (!given) validate(asked);
    const Waiting waiting("validating", Waiting::kNothingToLose);
    TrainOptions options = with_task(asked);
    const TaskEntry& task = TaskRegistry::instance().find(options.task_name());
    Communicator communicator(place, prepare_device(options, place));
    check_same_options(communicator, options);
    const Say say = say_on(output.lines);
    ChosenCheckpoint chosen;
    std::string info;  // empty: weights alone
    on_rank_0(communicator, [&] {
      check_files(task, options, output, purpose);
      chosen = choose_checkpoint(checkpoint, say);
      if (!holds_weights_alone(chosen.path)) info = info_to_text(read_checkpoint_info(chosen.path));
    });
    const fs::path file = communicator.broadcast(chosen.path.string());
    info = communicator.broadcast(info);
    CheckpointInfo stored;
    if (!info.empty()) {
      stored = info_from_text(info);
      if (given) {
        options = with_given(stored.options, options, *given, TaskRegistry::instance(),
                             TakenFor::evaluation);
      }
      require_task(stored, file, options);
    }
    if (options.data.empty()) {
      throw error_at(file, ErrorCode::invalid_argument, "names no data set; give {}",
                     option_name("data"));
    }
    validate(options);
    const RunMesh mesh(options, communicator);
    const EvalResult result =
        evaluate_file(options, info.empty() ? nullptr : &stored, file, mesh, purpose, output);
    chosen.put_damaged_aside(say);  // of rank 0
    if (output.json != nullptr && communicator.rank() == 0) {
      print_validation(output.json, result, task.units);
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
                    const ProgressOutput& output, const ProcessPlace& place,
                    const std::optional<std::vector<std::string>>& given) {
  return evaluate_for(Purpose::evaluation, options, checkpoint, output, place, given);
}

EvalResult predict(const TrainOptions& options, const fs::path& checkpoint,
                   const ProgressOutput& output, const ProcessPlace& place,
                   const std::optional<std::vector<std::string>>& given) {
  if (output.results.empty()) {
    throw Error(ErrorCode::invalid_argument, "predictions need an output file");
  }
  return evaluate_for(Purpose::prediction, options, checkpoint, output, place, given);
}

}  // namespace ffkit
