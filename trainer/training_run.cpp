#include "training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <ffkit/format/error.h>
#include <ffkit/trainer/stop.h>

#include "checkpoint/options_file.h"
#include "checkpoint/same_run.h"
#include "checkpoint/weights.h"
#include "model/model_registry.h"
#include "model_factory.h"
#include "optim/lr_schedule.h"
#include "tasks/classification/validation.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kDummySteps = 100;  // an epoch

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void refuse_checkpoint(const std::filesystem::path& checkpoint,
                                    const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message, {.path = checkpoint.string()});
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options, const ProgressOutput& output,
                         Communicator& communicator)
    : TrainingRun(options, output, communicator,
                  open_data(options.resolved(communicator.world_size()), communicator)) {}

TrainingRun::TrainingRun(const TrainOptions& options, const ProgressOutput& output,
                         Communicator& communicator, Data data)
    : options_(options),
      resolved_(options.resolved(communicator.world_size())),
      output_(communicator.rank() == 0 ? output
                                       : ProgressOutput{.lines = nullptr, .live = nullptr}),
      communicator_(communicator),
      live_(output_.live),
      data_(std::move(data)),
      state_{.options = options,
             .classes = data_.classes,
             .global_batch_size = resolved_.global_batch_size,
             .loader = data_.start},
      model_(make_model(resolved_, int64_t(state_.classes.size()), communicator)),
      optimizer_(make_optimizer(resolved_, *model_)),
      average_(options.ema_decay > 0 ? std::make_unique<ModelAverage>(*model_, options.ema_decay)
                                     : nullptr),
      train_size_(train_image_size(options, 0)),
      step_(resolved_, *model_, *optimizer_, communicator),
      steps_per_epoch_(data_.train->num_batches() / options.accumulate),
      profiler_(output.profile, communicator.rank(), communicator.device().is_cuda()) {
  if (resolved_.sync_bn) model_->synchronise_batch_norm(communicator);
  if (steps_per_epoch_ == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the training split has fewer pictures than one step of {}; give a "
                            "smaller --batch-size",
                            resolved_.global_batch_size),
                {.path = options.data.string()});
  }
}

TrainingRun::Data TrainingRun::open_data(const TrainOptions& options, Communicator& communicator) {
  Data data;
  const int64_t shares = communicator.world_size() * options.accumulate;
  const int64_t limit = options.limit_batches * options.accumulate;
  if (options.dummy) {
    for (int64_t i = 0; i < kDummyClasses; ++i) data.classes.push_back(std::to_string(i));
    const int64_t num_batches =
        options.limit_batches > 0 ? limit : kDummySteps * options.accumulate;
    data.train =
        std::make_unique<DummySource>(options, kDummyClasses, num_batches, communicator.device());
    return data;
  }
  const Dataset train = ffkit::open_data(options, "train");
  data.classes = class_list(train);
  const auto num_classes = int64_t(data.classes.size());
  check_same_data(communicator, train.fingerprint(), options.data);
  data.start = {.fingerprint = train.fingerprint(), .seed = options.seed};
  if (train.num_records() < options.batch_size * shares) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "the split has {} records, fewer than one step of {}; give a smaller --batch-size",
            train.num_records(), options.batch_size * shares),
        {.path = train.path().string()});
  }
  const ProcessPlace& place = communicator.place();
  const c10::Device device = communicator.device();
  data.dataset = train;
  data.train = std::make_unique<DataSource>(train, train_loader_options(options, place, device),
                                            num_classes, limit, device);
  data.val = std::make_unique<DataSource>(open_val(options, data.classes),
                                          val_loader_options(options, place, device), num_classes,
                                          options.limit_batches, device);
  return data;
}

std::vector<NamedTensor> TrainingRun::state_tensors() const {
  std::vector<NamedTensor> out = model_state(*model_);
  append_with_prefix("optimizer.", optimizer_->state(), out);
  if (average_) append_with_prefix(kAveragePrefix, average_->tensors(), out);
  append_with_prefix("scaler.", step_.scaler().state(), out);
  return out;
}

void TrainingRun::check_fits(const CheckpointInfo& stored,
                             const std::filesystem::path& checkpoint) const {
  // What the options or the data contradict is said before the tensors are compared: they would only show the consequences.
  if (stored.options.arch != options_.arch) {
    refuse_checkpoint(checkpoint, fmt::format("is of arch {}, but {} was asked for",
                                              stored.options.arch, options_.arch));
  }
  if (stored.classes != state_.classes) {
    refuse_checkpoint(checkpoint, fmt::format("its {} classes are not the {} of the data set {}",
                                              stored.classes.size(), state_.classes.size(),
                                              options_.data.string()));
  }
  if (stored.loader.fingerprint != state_.loader.fingerprint) {
    refuse_checkpoint(checkpoint,
                      fmt::format("its run was on other data than {}; give the same data set, or "
                                  "start a new run",
                                  options_.data.string()));
  }
  if (stored.loader.seed != state_.loader.seed) {
    refuse_checkpoint(checkpoint, fmt::format("its run has the seed {}, but {} was asked for",
                                              stored.loader.seed, options_.seed));
  }
  if (stored.epochs_done >= options_.epochs) {
    refuse_checkpoint(checkpoint,
                      fmt::format("its run has done {} of {} epochs; give more --epochs to go on",
                                  stored.epochs_done, options_.epochs));
  }
}

void TrainingRun::restore(const std::filesystem::path& checkpoint) {
  const std::vector<NamedTensor> tensors = state_tensors();
  std::string info;
  on_rank_0(communicator_, [&] {
    const CheckpointInfo stored = read_checkpoint_info(checkpoint);
    check_fits(stored, checkpoint);
    std::vector<NamedTensor> wanted = tensors;
    // An average that the run did not keep so far begins as a copy of the model.
    const bool has_average = stored.options.ema_decay > 0;
    if (!has_average)
      std::erase_if(wanted,
                    [](const NamedTensor& t) { return t.name.starts_with(kAveragePrefix); });
    info = info_to_text(load_checkpoint(checkpoint, wanted));
    if (average_ && !has_average) average_->reset();
  });
  state_ = info_from_text(communicator_.broadcast(info));
  state_.options = options_;
  state_.global_batch_size = resolved_.global_batch_size;
  communicator_.broadcast(tensors);
  last_checkpoint_ = checkpoint;
}

void TrainingRun::load_pretrained() {
  on_rank_0(communicator_, [&] {
    const Weights weights = read_weights(options_.pretrained);
    const ModelEntry& entry = ModelRegistry::instance().find(options_.arch);
    if (load_weights(weights, entry, *model_, HeadPolicy::may_differ) || output_.lines == nullptr)
      return;
    fmt::print(output_.lines,
               "{}: its head has {} classes and the data set {}; the head is drawn anew\n",
               options_.pretrained.string(), num_classes(weights, entry), state_.classes.size());
    std::fflush(output_.lines);
  });
  communicator_.broadcast(model_state(*model_));
  if (average_) average_->reset();
}

TrainSummary TrainingRun::run(const std::optional<WorkDir>& work_dir) {
  const Clock::time_point start = Clock::now();
  last_checkpoint_time_ = start;
  TrainSummary summary;
  // With another batch size than before the schedule goes on from the same picture, and the mean loss of the epoch's steps so far stands for as
  // many pictures as it was taken over.
  const int64_t steps_before = state_.epoch_steps;
  state_.epoch_steps = state_.loader.position / resolved_.global_batch_size;
  if (steps_before > 0 && steps_before != state_.epoch_steps)
    state_.epoch_loss_sum *= double(state_.epoch_steps) / double(steps_before);
  state_.steps_done = state_.epochs_done * steps_per_epoch_ + state_.epoch_steps;
  prepare_loader(state_.epochs_done);
  data_.train->restore(state_.loader);
  if (work_dir) {
    write_options_file(work_dir->path() / kOptionsFileName, options_);
    metrics_.emplace(work_dir->path(), state_.steps_done);
  }
  while (state_.epochs_done < options_.epochs && !is_stopped_) {
    const std::optional<EpochResult> epoch = run_epoch(work_dir);
    // Before the checkpoint: a run that is killed between them repeats the epoch, and the metrics are cut to what the checkpoint knows.
    if (epoch) report(*epoch);
    write_checkpoint(work_dir);
    if (!epoch) break;
    summary.last = epoch->val;
    ++summary.epochs_done;
  }
  writer_.wait();
  if (output_.lines != nullptr && !profiler_.report().empty())
    fmt::print(output_.lines, "{}\n", profiler_.report());
  // Nobody leaves while another still needs its answers.
  communicator_.barrier();
  summary.is_stopped = is_stopped_;
  summary.checkpoint = last_checkpoint_;
  summary.best_top1 = state_.best_top1;
  summary.best_epoch = state_.best_epoch;
  summary.seconds = seconds_since(start);
  summary.images_per_second = throughput_.images_per_second();
  summary.data_wait_share = throughput_.wait_share();
  return summary;
}

std::optional<TrainingRun::EpochResult> TrainingRun::run_epoch(
    const std::optional<WorkDir>& work_dir) {
  EpochResult result;
  // Of the last step, also where only the validation is left.
  result.lr =
      learning_rate(resolved_, steps_per_epoch_, std::max<int64_t>(1, state_.steps_done) - 1);
  const Clock::time_point start = Clock::now();
  Clock::time_point step_start = start;
  // Of a GPU's steps the last one is looked at while the next one is computed.
  const size_t num_waiting = communicator_.device().is_cuda() ? 1 : 0;
  while (state_.epoch_steps < steps_per_epoch_) {
    result.lr = learning_rate(resolved_, steps_per_epoch_, state_.steps_done);
    if (!run_step(result.lr)) break;
    take_losses(num_waiting);
    profiler_.after_step();
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - step_start).count();
    throughput_.add_step(resolved_.global_batch_size, seconds, step_wait_);
    window_.add_step(last_loss_, resolved_.global_batch_size, seconds, step_wait_);
    if (metrics_ && state_.steps_done % options_.log_every == 0) {
      metrics_->add(window_.take(state_.steps_done, state_.epochs_done + 1, result.lr));
    }
    step_start = now;
    if ((is_checkpoint_due_ || is_stopped_) && state_.epoch_steps < steps_per_epoch_) {
      take_losses(0);
      state_.loader = data_.train->state();
      if (is_stopped_) return std::nullopt;
      write_checkpoint(work_dir);
    }
  }
  take_losses(0);
  if (metrics_ && window_.num_steps() > 0) {
    metrics_->add(window_.take(state_.steps_done, state_.epochs_done + 1, result.lr));
  }
  result.train_loss =
      state_.epoch_steps > 0 ? state_.epoch_loss_sum / double(state_.epoch_steps) : 0;
  const int64_t next_epoch = state_.epochs_done + 1;
  if (data_.val) {
    // A run that is ended during the validation goes on with just that.
    state_.loader = data_.train->state();
    write_checkpoint(work_dir);
    if (work_dir) before_validation_ = last_checkpoint_;
    if (is_stopped_) return std::nullopt;
  }
  prepare_loader(next_epoch);
  // Before the validation: the loader reads ahead during it.
  data_.train->start_epoch(next_epoch);
  const std::optional<EvalResult> val = validate_epoch();
  if (!val) {
    is_stopped_ = true;
    return std::nullopt;
  }
  result.val = *val;
  ++state_.epochs_done;
  state_.epoch_steps = 0;
  state_.epoch_loss_sum = 0;
  state_.steps_done = state_.epochs_done * steps_per_epoch_;
  state_.loader = data_.train->state();
  result.seconds = seconds_since(start);
  if (state_.best_epoch == 0 || result.val.top1 > state_.best_top1) {
    state_.best_top1 = result.val.top1;
    state_.best_epoch = state_.epochs_done;
  }
  live_.clear();
  return result;
}

bool TrainingRun::run_step(double lr) {
  step_wait_ = 0;
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    const std::optional<TensorBatch> batch = data_.train->next();
    if (!batch) return false;
    step_wait_ += data_.train->wait_seconds();
    if (i == 0) step_.begin(state_.steps_done);
    step_.add(*batch, i + 1 == options_.accumulate);
  }
  losses_.emplace_back(step_.end(lr));
  update_average();
  ++state_.epoch_steps;
  ++state_.steps_done;
  return true;
}

void TrainingRun::update_average() {
  if (!average_ || state_.steps_done % options_.ema_steps != 0) return;
  // As torchvision's reference training: weights that change as fast as in the warm-up are no use to an average.
  const bool is_warming_up =
      double(state_.steps_done) < options_.warmup_epochs * double(steps_per_epoch_);
  if (state_.steps_done == 0 || is_warming_up) {
    average_->reset();
  } else {
    average_->update();
  }
}

void TrainingRun::prepare_loader(int64_t epoch) {
  const int64_t size = train_image_size(options_, epoch);
  if (size == train_size_ || !data_.dataset) return;
  train_size_ = size;
  data_.train.reset();  // its threads and memory go first
  data_.train = std::make_unique<DataSource>(
      *data_.dataset,
      train_loader_options(resolved_, communicator_.place(), communicator_.device(), epoch),
      int64_t(state_.classes.size()), options_.limit_batches * options_.accumulate,
      communicator_.device());
}

void TrainingRun::take_losses(size_t num_left) {
  while (losses_.size() > num_left) {
    // All processes learn at the same step that one of them is to stop, or that rank 0 is to write a checkpoint: what follows from it
    // is collective. Before the loss: a GPU's may wait for a process that is gone, and here, on the CPU, that is found out.
    const bool is_due = communicator_.rank() == 0 && options_.checkpoint_minutes > 0 &&
                        seconds_since(last_checkpoint_time_) > 60 * options_.checkpoint_minutes;
    const std::vector<double> flags =
        communicator_.sum(std::vector<double>{stop_signal() != 0 ? 1.0 : 0.0, is_due ? 1.0 : 0.0});
    is_stopped_ = is_stopped_ || flags[0] > 0;
    is_checkpoint_due_ = is_checkpoint_due_ || flags[1] > 0;
    const double own = losses_.front().get();
    losses_.pop_front();
    const double loss = communicator_.sum(std::vector<double>{own})[0] / communicator_.world_size();
    if (!std::isfinite(loss)) {
      live_.clear();
      writer_.wait();
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("the loss became {} in epoch {}, step {}; try a smaller --lr or more "
                      "--warmup-epochs{}",
                      loss, state_.epochs_done + 1, state_.epoch_steps - int64_t(losses_.size()),
                      last_checkpoint_.empty() ? ""
                                               : fmt::format("; the last good checkpoint is {}",
                                                             last_checkpoint_.string())));
    }
    state_.epoch_loss_sum += loss;
    last_loss_ = loss;
    show_progress(loss);
  }
}

void TrainingRun::write_checkpoint(const std::optional<WorkDir>& work_dir) {
  last_checkpoint_time_ = Clock::now();
  is_checkpoint_due_ = false;
  if (!work_dir) return;
  const std::filesystem::path path =
      work_dir->checkpoint_path(state_.epochs_done, state_.loader.position);
  if (path == last_checkpoint_) return;
  writer_.write(path, snapshot(state_, state_tensors()),
                [dir = *work_dir, num_kept = options_.keep_checkpoints, best = state_.best_epoch,
                 replaced = std::exchange(before_validation_, {})] {
                  std::error_code error;  // if it stays, it is pruned with others
                  if (!replaced.empty()) std::filesystem::remove(replaced, error);
                  dir.prune(num_kept, best);
                });
  last_checkpoint_ = path;
}

std::optional<EvalResult> TrainingRun::validate_epoch() {
  if (!data_.val) return EvalResult{};
  // What rank 0 validates is what its checkpoint holds: running statistics are not the same everywhere.
  communicator_.broadcast(model_->buffers());
  if (average_) communicator_.broadcast(average_->tensors());
  const AveragedWeights averaged(average_.get());
  return validate_model(*model_, *data_.val, resolved_.amp, communicator_);
}

void TrainingRun::show_progress(double loss) {
  const double rate = throughput_.images_per_second();
  const int64_t steps_left = options_.epochs * steps_per_epoch_ - state_.steps_done;
  live_.update(
      {.epoch = state_.epochs_done + 1,
       .num_epochs = options_.epochs,
       .step = state_.epoch_steps,
       .num_steps = steps_per_epoch_,
       .loss = loss,
       .images_per_second = rate,
       .wait_share = throughput_.wait_share(),
       .seconds_left = rate > 0 ? double(steps_left * resolved_.global_batch_size) / rate : 0});
}

void TrainingRun::report(const EpochResult& epoch) {
  if (metrics_ && data_.val) {
    metrics_->add(ValidationMetrics{.step = state_.steps_done,
                                    .epoch = state_.epochs_done,
                                    .train_loss = epoch.train_loss,
                                    .seconds = epoch.seconds,
                                    .result = epoch.val});
  }
  if (output_.lines == nullptr) return;
  const std::string val =
      data_.val ? fmt::format("val loss {:.4f}  top-1 {:.2f} %  top-5 {:.2f} %  ", epoch.val.loss,
                              100 * epoch.val.top1, 100 * epoch.val.top5)
                : "";
  const std::string rate =
      throughput_text(throughput_.images_per_second(), throughput_.wait_share());
  fmt::print(output_.lines, "epoch {}/{}  train loss {:.4f}  {}lr {:.3g}  {}{}{}\n",
             state_.epochs_done, options_.epochs, epoch.train_loss, val, epoch.lr,
             rate.empty() ? "" : rate + "  ", format_duration(epoch.seconds),
             step_.num_skipped() > 0
                 ? fmt::format("  {} steps left out (overflow)", step_.num_skipped())
                 : "");
  std::fflush(output_.lines);
}

}  // namespace ffkit
