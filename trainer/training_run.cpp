#include "training_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <ffkit/base/option_names.h>
#include <ffkit/launch/stop.h>
#include <ffkit/trainer/task_registry.h>

#include "base/file/file.h"
#include "base/make_error.h"
#include "checkpoint/checkpoint_parts.h"
#include "checkpoint/weights.h"
#include "launch/waiting.h"
#include "optim/lr_schedule.h"
#include "options/stored_options.h"
#include "run_options.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDummySteps = 100;  // an epoch

// How the orders of a loader begin that shuffles samples (Sampler::description()).
constexpr char kShuffled[] = "shuffle, ";
constexpr char kWindowed[] = "windowed by ";

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options, const ProgressOutput& output,
                         const RunMesh& mesh)
    : options_(options),
      resolved_(options.resolved(mesh.data().world_size())),
      mesh_(mesh),
      communicator_(mesh.world()),
      entry_(TaskRegistry::instance().find(options.task_name())),
      task_(open_task()),
      train_(open_training()),
      val_(options.dummy ? nullptr : task_->validation_batches()),
      state_{.options = options,
             .facts = task_->facts(),
             .global_batch_size = resolved_.global_batch_size,
             .loader = train_->state()},
      model_(*task_, resolved_, mesh.data()),
      average_(options.ema_decay > 0
                   ? std::make_unique<ModelAverage>(model_.model, options.ema_decay)
                   : nullptr),
      length_(length()),
      report_(
          communicator_.rank() == 0 ? output : ProgressOutput{.lines = nullptr, .live = nullptr},
          entry_, length_),
      profiler_(output.profile, communicator_.rank(), communicator_.device().is_cuda(),
                communicator_.rank() == 0 ? output.lines : nullptr),
      checkpoints_(options, communicator_, whole_state().is_divided()) {
  report_.print_lines(task_->notes());
}

RunLength TrainingRun::length() const {
  const int64_t steps_per_epoch = train_->num_batches() / options_.accumulate;
  if (steps_per_epoch == 0) {
    throw dataset_error(options_.data.string(), ErrorCode::invalid_argument,
                        "the training split has fewer {} than one step, {}; give a smaller {}",
                        entry_.samples, resolved_.global_batch_size, option_name("batch_size"));
  }
  const int64_t num_steps = total_steps(options_, steps_per_epoch);
  return {.num_epochs = (num_steps + steps_per_epoch - 1) / steps_per_epoch,
          .steps_per_epoch = steps_per_epoch,
          .num_steps = num_steps,
          .samples_per_step = resolved_.global_batch_size,
          .units_per_step = resolved_.global_batch_size * task_->units_per_sample()};
}

bool TrainingRun::ends_with_validation() const {
  const int64_t epoch = state_.epochs_done + 1;
  return val_ && (epoch % options_.eval_every == 0 || epoch == length_.num_epochs);
}

std::unique_ptr<Task> TrainingRun::open_task() {
  std::unique_ptr<Task> task = make_task(resolved_, mesh_);
  if (options_.dummy) {
    task->open_noise();
  } else {
    task->open();
    check_same_data(communicator_, task->fingerprint(), options_.data);
  }
  return task;
}

std::unique_ptr<BatchSource> TrainingRun::open_training() {
  if (!options_.dummy) return task_->training_batches(source_epoch_);
  const int64_t steps = options_.limit_batches > 0 ? options_.limit_batches : kDummySteps;
  return std::make_unique<RepeatedBatch>(task_->noise(), steps * options_.accumulate);
}

std::vector<NamedTensor> TrainingRun::state_tensors() const {
  std::vector<NamedTensor> out = model_state(model_.model);
  append_with_prefix(kOptimizerPrefix, model_.optimizer->state(), out);
  if (average_) append_with_prefix(kAveragePrefix, average_->tensors(), out);
  append_with_prefix("scaler.", model_.step.scaler().state(), out);
  append_with_prefix("task.", task_->state(), out);
  return out;
}

void TrainingRun::restore(const std::filesystem::path& checkpoint) {
  std::string info;
  on_rank_0(communicator_, [&] {
    const CheckpointInfo stored = read_checkpoint_info(checkpoint);
    check_fits(stored, checkpoint);
    info = info_to_text(stored);
  });
  state_ = info_from_text(communicator_.broadcast(info));
  std::vector<NamedTensor> wanted = state_tensors();
  // An average that the run did not keep so far begins as a copy of the model.
  const bool has_average = state_.options.ema_decay > 0;
  if (!has_average)
    std::erase_if(wanted, [](const NamedTensor& t) { return t.name.starts_with(kAveragePrefix); });
  whole_state().load_checkpoint(checkpoint, wanted);
  if (average_ && !has_average) average_->reset();
  TrainOptions before = std::exchange(state_.options, options_);
  // As many samples a step as before are no difference, however they are shared.
  if (state_.global_batch_size == resolved_.global_batch_size)
    before.global_batch_size = options_.global_batch_size;
  state_.global_batch_size = resolved_.global_batch_size;
  checkpoints_.resumed(checkpoint);
  const std::string wrong = not_finite();
  if (!wrong.empty()) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   wrong + ", because the run had diverged; continue from an earlier checkpoint");
  }
  const std::vector<std::string> others = differences(before, options_, TaskRegistry::instance());
  if (!others.empty())
    report_.print_lines(
        {fmt::format("options that changed since this checkpoint: {}", fmt::join(others, "; "))});
}

void TrainingRun::begin() {
  on_rank_0(communicator_, [&] { task_->load_initial_weights(); });
  report_.print_lines(task_->weight_notes());
  if (!options_.pretrained.empty()) {
    load_pretrained();
  } else if (task_->parts() == nullptr) {
    communicator_.broadcast(model_state(model_.model));
  }
  if (const std::string wrong = not_finite(); !wrong.empty()) {
    throw error_at(options_.pretrained, ErrorCode::invalid_argument,
                   wrong + " before training begins; give other weights to start from");
  }
  if (average_) average_->reset();
}

void TrainingRun::load_pretrained() {
  const Say say = report_.say();
  ChosenCheckpoint chosen;  // on rank 0
  Weights weights;
  std::string in_parts, info;  // of a checkpoint of which each process reads its part
  on_rank_0(communicator_, [&] {
    chosen = choose_checkpoint(options_.pretrained, say);
    const std::filesystem::path& file = chosen.path;
    if (task_->parts() == nullptr || !is_in_parts(file) || !options_.weights_key.empty()) {
      weights = read_weights(file, options_.weights_key);
      return;
    }
    in_parts = file.string();
    info = info_to_text(read_checkpoint_info(file));
  });
  in_parts = communicator_.broadcast(in_parts);
  info = communicator_.broadcast(info);
  if (!in_parts.empty()) {
    const CheckpointInfo stored = info_from_text(info);
    whole_state().load_checkpoint(in_parts, evaluated_state(model_.model, stored.options));
    chosen.put_damaged_aside(say);
    return;
  }
  std::vector<std::string> notes = std::move(weights.notes);
  whole_state().load(weights, task_->weight_rules(), model_.model, HeadPolicy::may_differ, &notes);
  chosen.put_damaged_aside(say);
  report_.print_lines(notes_of(options_.pretrained, notes));
}

TrainSummary TrainingRun::run(const std::optional<WorkDir>& work_dir) {
  const Clock::time_point start = Clock::now();
  TrainSummary summary;
  // With another batch size than before the schedule goes on from the same sample, and the mean
  // loss of the epoch's steps so far stands for as many samples as it was taken over.
  const int64_t steps_before = state_.epoch_steps;
  state_.epoch_steps = state_.loader.position / resolved_.global_batch_size;
  if (steps_before > 0 && steps_before != state_.epoch_steps)
    state_.epoch_loss_sum *= static_cast<double>(state_.epoch_steps) / steps_before;
  state_.steps_done = state_.epochs_done * length_.steps_per_epoch + state_.epoch_steps;
  checkpoints_.start(state_.steps_done);
  prepare_source(state_.epochs_done);
  train_->restore(state_.loader);
  const std::string order = train_->state().order;
  check_same_order(communicator_, order);
  if (order.starts_with(kWindowed)) {
    report_.print_lines({fmt::format("order of the samples: {}", order)});
  }
  if (work_dir) {
    write_durably(work_dir->path() / kOptionsFileName, options_to_toml(options_));
    report_.open_log(work_dir->path(), state_);
  } else {
    report_.print_lines(
        {"weights and metrics of this run are not kept; give --work-dir to keep them"});
  }
  report_.start(state_);
  while (state_.epochs_done < length_.num_epochs && !is_stopped_) {
    if (is_out_of_patience(state_, options_)) {
      report_.print_lines(
          {fmt::format("the last {} validations were not better than epoch {}; the "
                       "run ends here",
                       options_.patience, state_.best_epoch)});
      break;
    }
    const std::optional<EpochResult> epoch = run_epoch(work_dir);
    // Before the checkpoint: a run that is killed between them repeats the epoch, and the metrics
    // are cut to what the checkpoint knows.
    if (epoch) report_.end_epoch(state_, *epoch, model_.step.num_skipped());
    if (epoch || state_.steps_done > 0) write_checkpoint(work_dir);
    if (!epoch) break;
    if (epoch->val) summary.last = *epoch->val;
    ++summary.epochs_done;
  }
  checkpoints_.wait();
  if (!is_stopped_) report_.print_lines(task_->end_notes());
  profiler_.finish();
  // Nobody leaves while another still needs its answers.
  communicator_.barrier();
  if (!is_stopped_) require_judged(summary.last);
  summary.is_stopped = is_stopped_;
  summary.checkpoint = checkpoints_.last();
  summary.best = state_.best;
  summary.best_epoch = state_.best_epoch;
  summary.seconds = seconds_since(start);
  summary.units_per_second = report_.throughput().units_per_second();
  summary.data_wait_share = report_.throughput().wait_share();
  summary.fps = report_.fps();
  return summary;
}

std::optional<EpochResult> TrainingRun::run_epoch(const std::optional<WorkDir>& work_dir) {
  task_->set_epoch(state_.epochs_done);
  EpochResult result;
  // Of the last step, also where only the validation is left.
  result.lr = learning_rate(resolved_, length_.steps_per_epoch,
                            std::max<int64_t>(1, state_.steps_done) - 1);
  const Clock::time_point start = Clock::now();
  Clock::time_point step_start = start;
  // Of a GPU's steps the last one is looked at while the next one is computed.
  const size_t num_waiting = communicator_.device().is_cuda() ? 1 : 0;
  // The last epoch ends with the run's last step.
  const int64_t end = std::min(length_.steps_per_epoch,
                               length_.num_steps - state_.epochs_done * length_.steps_per_epoch);
  while (state_.epoch_steps < end) {
    result.lr = learning_rate(resolved_, length_.steps_per_epoch, state_.steps_done);
    if (!run_step(result.lr)) {
      if (!is_stopped_) break;
      take_losses(0);
      state_.loader = before_step_;
      return std::nullopt;
    }
    // A line of metrics is of all its steps.
    const bool ends_window = state_.steps_done % options_.log_every == 0;
    take_losses(ends_window ? 0 : num_waiting);
    profiler_.after_step();
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - step_start).count();
    report_.add_step(seconds, step_wait_);
    if (ends_window) report_.end_window(state_, result.lr);
    step_start = now;
    if ((is_checkpoint_due_ || is_stopped_) && state_.epoch_steps < end) {
      take_losses(0);
      state_.loader = train_->state();
      if (is_stopped_) return std::nullopt;
      write_checkpoint(work_dir);
    }
  }
  take_losses(0);
  report_.end_epoch_window(state_, result.lr);
  result.train_loss = state_.epoch_steps > 0 ? state_.epoch_loss_sum / state_.epoch_steps : 0;
  const int64_t next_epoch = state_.epochs_done + 1;
  if (ends_with_validation()) {
    // A run that is ended during the validation goes on with just that.
    state_.loader = train_->state();
    write_checkpoint(work_dir);
    if (work_dir) checkpoints_.replace_last();
    if (is_stopped_) return std::nullopt;
  }
  // Before the validation: the loader reads ahead during it. The last epoch has none after it whose
  // data would be waited for.
  if (next_epoch < length_.num_epochs || !task_->shares_source(next_epoch, source_epoch_)) {
    prepare_source(next_epoch);
    train_->set_epoch(next_epoch);
  }
  if (ends_with_validation()) {
    result.val = validate_epoch();
    if (!result.val) {
      is_stopped_ = true;
      return std::nullopt;
    }
    if (!result.val->diverged.empty()) end_diverged(result.val->diverged);
    // An average may be finite where the weights are not.
    if (!average_) checkpoints_.proven(state_.steps_done);
  }
  ++state_.epochs_done;
  state_.epoch_steps = 0;
  state_.epoch_loss_sum = 0;
  state_.steps_done = std::min(state_.epochs_done * length_.steps_per_epoch, length_.num_steps);
  state_.loader = train_->state();
  state_.loader.epoch = state_.epochs_done;
  state_.loader.position = 0;
  result.seconds = seconds_since(start);
  // Without data, the first epoch counts as the best.
  const double value = result.val ? result.val->value(entry_.best) : 0;
  const bool is_judged = (result.val || !val_) && std::isfinite(value);
  if (is_judged && (state_.best_epoch == 0 || entry_.is_better(value, state_.best))) {
    state_.best = value;
    state_.best_epoch = state_.epochs_done;
  }
  report_.clear_terminal();
  return result;
}

bool TrainingRun::run_step(double lr) {
  profiler_.before_step();
  before_step_ = train_->state();
  std::optional<TrainingStep::Result> step = model_.step.run(*train_, state_.steps_done, lr);
  is_stopped_ = model_.step.is_stopped();
  if (!step) return false;
  step_wait_ = step->wait_seconds;
  losses_.push_back(std::move(step->loss));
  update_average();
  ++state_.epoch_steps;
  ++state_.steps_done;
  return true;
}

void TrainingRun::update_average() {
  if (!average_ || state_.steps_done % options_.ema_steps != 0) return;
  // As torchvision's reference training: weights that change as fast as in the warm-up are no use
  // to an average.
  const bool is_warming_up =
      state_.steps_done < num_warmup_steps(options_, length_.steps_per_epoch);
  if (state_.steps_done == 0 || is_warming_up) {
    average_->reset();
  } else {
    average_->update();
  }
}

void TrainingRun::prepare_source(int64_t epoch) {
  if (options_.dummy || task_->shares_source(epoch, source_epoch_)) return;
  source_epoch_ = epoch;
  const LoaderState before = train_->state();
  train_.reset();  // its threads and memory go first
  train_ = open_training();
  // A run that began in another place keeps the order that it has.
  LoaderState state = train_->state();
  const auto is_shuffled = [](const std::string& order) {
    return order.starts_with(kShuffled) || order.starts_with(kWindowed);
  };
  if (state.order == before.order || !is_shuffled(state.order) || !is_shuffled(before.order))
    return;
  state.order = before.order;
  train_->restore(state);
}

void TrainingRun::take_losses(size_t num_left) {
  while (losses_.size() > num_left) {
    // All processes learn at the same step that one of them is to stop, or that rank 0 is to write
    // a checkpoint: what follows from it is collective. Before the loss: a GPU's may wait for a
    // process that is gone, and here, on the CPU, that is found out.
    const std::vector<double> flags = communicator_.sum(
        std::vector<double>{stop_signal() != 0 ? 1.0 : 0.0, checkpoints_.is_due() ? 1.0 : 0.0});
    is_stopped_ = is_stopped_ || flags[0] > 0;
    is_checkpoint_due_ = is_checkpoint_due_ || flags[1] > 0;
    const double own = losses_.front().get();
    losses_.pop_front();
    const double loss = communicator_.sum(std::vector<double>{own})[0] / communicator_.world_size();
    const auto num_later = std::ssize(losses_);
    if (!std::isfinite(loss)) {
      end_diverged(fmt::format("the loss became {} in epoch {}, step {}",
                               std::isnan(loss) ? "nan" : "inf", state_.epochs_done + 1,
                               state_.epoch_steps - num_later));
    }
    checkpoints_.proven(state_.steps_done - num_later - 1);
    state_.epoch_loss_sum += loss;
    report_.add_loss(state_, loss);
  }
}

void TrainingRun::write_checkpoint(const std::optional<WorkDir>& work_dir) {
  if (const std::string wrong = not_finite(); !wrong.empty()) {
    end_diverged(fmt::format("{} in epoch {}, after step {}", wrong, state_.epochs_done + 1,
                             state_.epoch_steps));
  }
  is_checkpoint_due_ = false;
  checkpoints_.write(work_dir, state_, whole_state(), [this] { return state_tensors(); });
}

std::optional<EvalResult> TrainingRun::validate_epoch() {
  // What rank 0 validates is what its checkpoint holds: running statistics are not the same
  // everywhere.
  communicator_.broadcast(model_.model.buffers());
  if (average_ && task_->parts() == nullptr) communicator_.broadcast(average_->tensors());
  const AveragedWeights averaged(average_.get());
  return validate_model(*task_, model_.model, *val_, resolved_.amp, mesh_);
}

void TrainingRun::check_fits(const CheckpointInfo& stored,
                             const std::filesystem::path& checkpoint) const {
  // What the options or the data contradict is said before the tensors are compared: they would
  // only show the consequences.
  const std::string misfit = task_->misfit(stored.options, stored.facts);
  if (!misfit.empty()) throw error_at(checkpoint, ErrorCode::invalid_argument, misfit);
  if (stored.loader.fingerprint != state_.loader.fingerprint) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "the run of this checkpoint used other data than {}; give the same data set, or "
                   "start a new run",
                   options_.data.string());
  }
  const std::string order = train_->state().order;
  if (options_.data.are_several() && stored.loader.order != order) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "the run of this checkpoint had the order '{}', but {} give the order '{}'; "
                   "give the weights of that run ({}), or start a new run",
                   stored.loader.order, options_.data.string(), order,
                   stored.options.data.string());
  }
  if (stored.loader.seed != state_.loader.seed) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "the run of this checkpoint has the seed {0}, but the seed here is {1}; give "
                   "the seed {0}, or start a new run",
                   stored.loader.seed, options_.seed);
  }
  if (is_out_of_patience(stored, options_)) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "the last {} validations of this run were not better than epoch {}; give a "
                   "larger {} to continue",
                   options_.patience, stored.best_epoch, option_name("patience"));
  }
  if (is_finished(stored, options_)) {
    throw error_at(
        checkpoint, ErrorCode::invalid_argument,
        options_.steps > 0
            ? fmt::format(
                  "the run of this checkpoint has done {} of {} steps; give more {} to continue",
                  stored.steps_done, options_.steps, option_name("steps"))
            : fmt::format(
                  "the run of this checkpoint has done {} of {} epochs; give more {} to continue",
                  stored.epochs_done, options_.epochs, option_name("epochs")));
  }
}

// A run whose last validation gave nothing to judge it by has not ended well.
void TrainingRun::require_judged(const EvalResult& last) const {
  if (!last.has_value(entry_.best) || std::isfinite(last.value(entry_.best))) return;
  throw error_of(
      ErrorCode::invalid_argument, "the last validation gave {}, which is not a number; {}{}",
      metric_text(entry_.best_metric(), last.value(entry_.best)),
      best_text(entry_, state_.best, state_.best_epoch),
      checkpoints_.last().empty() ? ""
                                  : fmt::format(". The last checkpoint with finite weights is {}",
                                                checkpoints_.last().string()));
}

std::string TrainingRun::not_finite() {
  std::vector<NamedTensor> trained = model_.model.parameters();
  append_with_prefix(kOptimizerPrefix, model_.optimizer->state(), trained);
  std::vector<NamedTensor> others = model_.model.buffers();
  if (average_) append_with_prefix(kAveragePrefix, average_->tensors(), others);
  std::string wrong = first_not_finite(trained, NotFinite::nan_and_inf);
  if (wrong.empty()) wrong = first_not_finite(others, NotFinite::nan_alone);
  // Processes that share a network have other parts of it.
  if (communicator_.sum(std::vector<double>{wrong.empty() ? 0.0 : 1.0})[0] == 0) return {};
  return wrong.empty() ? "the weights of another process are not finite"
                       : fmt::format("the tensor '{}' is not finite", wrong);
}

void TrainingRun::end_diverged(const std::string& what) {
  report_.clear_terminal();
  throw error_of(ErrorCode::invalid_argument, "{}; try a smaller {} or more {}{}", what,
                 option_name("lr"), option_name("warmup_epochs"), checkpoints_.put_aside());
}

}  // namespace ffkit
