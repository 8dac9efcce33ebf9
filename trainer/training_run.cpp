#include "training_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include <ffkit/format/error.h>

#include "classification_loss.h"
#include "gradient_clip.h"
#include "lr_schedule.h"
#include "model_factory.h"
#include "options_file.h"
#include "validation.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void refuse(const std::filesystem::path& checkpoint, const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message, {.path = checkpoint.string()});
}

}  // namespace

TrainingRun::TrainingRun(const TrainOptions& options, const ProgressOutput& output,
                         const ProcessContext& process)
    : TrainingRun(options, output, process, Dataset::open(options.data, "train")) {}

TrainingRun::TrainingRun(const TrainOptions& options, const ProgressOutput& output,
                         const ProcessContext& process, const Dataset& train)
    : options_(options),
      output_(output),
      live_(output.live),
      state_{.options = options, .classes = class_list(train)},
      model_(make_model(options, int64_t(state_.classes.size()))),
      optimizer_(make_optimizer(options, *model_)),
      average_(options.ema_decay > 0 ? std::make_unique<ModelAverage>(*model_, options.ema_decay)
                                     : nullptr),
      train_data_(train),
      process_(process),
      train_size_(train_image_size(options, 0)),
      train_(train, train_loader_options(options, process), int64_t(state_.classes.size()),
             options.limit_batches),
      val_(open_val(options.data, state_.classes), val_loader_options(options, process),
           int64_t(state_.classes.size()), options.limit_batches) {
  if (train_.num_batches() == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the split has {} records, fewer than one batch of {}; give a smaller "
                            "--batch-size",
                            train.num_records(), options.batch_size),
                {.path = train.path().string()});
  }
  state_.loader = {.fingerprint = train.fingerprint(), .seed = options.seed};
}

void TrainingRun::restore(const std::filesystem::path& checkpoint) {
  // What the options or the data contradict is said before the tensors are compared: they would only show the consequences.
  const CheckpointInfo stored = read_checkpoint_info(checkpoint);
  if (stored.options.arch != options_.arch) {
    refuse(checkpoint, fmt::format("is of arch {}, but {} was asked for",
                                   to_string(stored.options.arch), to_string(options_.arch)));
  }
  if (stored.classes != state_.classes) {
    refuse(checkpoint,
           fmt::format("its {} classes are not the {} of the data set {}", stored.classes.size(),
                       state_.classes.size(), options_.data.string()));
  }
  if (stored.loader.fingerprint != state_.loader.fingerprint) {
    refuse(checkpoint, fmt::format("its run was on other data than {}; give the same data set, or "
                                   "start a new run",
                                   options_.data.string()));
  }
  if (stored.loader.seed != options_.seed) {
    refuse(checkpoint, fmt::format("its run has the seed {}, but {} was asked for",
                                   stored.loader.seed, options_.seed));
  }
  if (stored.epochs_done >= options_.epochs) {
    refuse(checkpoint, fmt::format("its run has done {} of {} epochs; give more --epochs to go on",
                                   stored.epochs_done, options_.epochs));
  }
  state_ = load_checkpoint(checkpoint, *model_, optimizer_.get(), average_.get());
  state_.options = options_;
}

TrainSummary TrainingRun::run(const std::optional<WorkDir>& work_dir) {
  const Clock::time_point start = Clock::now();
  TrainSummary summary;
  // With another batch size than before the schedule goes on from the same epoch.
  state_.steps_done = state_.epochs_done * train_.num_batches();
  prepare_loader(state_.epochs_done);
  train_.restore(state_.loader);
  if (work_dir) {
    write_options_file(work_dir->path() / kOptionsFileName, options_);
    metrics_.emplace(work_dir->path(), state_.steps_done);
  }
  while (state_.epochs_done < options_.epochs) {
    const EpochResult epoch = run_epoch();
    summary.last = epoch.val;
    ++summary.epochs_done;
    // Before the checkpoint: a run that is killed between them repeats the epoch, and the log is cut to what the checkpoint knows.
    report(epoch);
    if (work_dir) {
      summary.checkpoint = work_dir->checkpoint_path(state_.epochs_done);
      save_checkpoint(summary.checkpoint, state_, *model_, *optimizer_, average_.get());
      work_dir->prune(options_.keep_checkpoints, state_.best_epoch);
    }
  }
  summary.best_top1 = state_.best_top1;
  summary.best_epoch = state_.best_epoch;
  summary.seconds = seconds_since(start);
  summary.images_per_second = throughput_.images_per_second();
  summary.data_wait_share = throughput_.wait_share();
  return summary;
}

TrainingRun::EpochResult TrainingRun::run_epoch() {
  EpochResult result;
  const Clock::time_point start = Clock::now();
  Clock::time_point step_start = start;
  double loss_sum = 0;
  int64_t step = 0;
  while (std::optional<TensorBatch> batch = train_.next()) {
    result.lr = learning_rate(options_, train_.num_batches(), state_.steps_done);
    const double loss = train_step(*batch, result.lr);
    if (!std::isfinite(loss)) {
      live_.clear();
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the loss became {} in epoch {}, step {}; try a smaller --lr or more "
                              "--warmup-epochs",
                              loss, state_.epochs_done + 1, step + 1));
    }
    loss_sum += loss;
    ++step;
    ++state_.steps_done;
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - step_start).count();
    throughput_.add_step(batch->labels.size(0), seconds, train_.wait_seconds());
    window_.add_step(loss, batch->labels.size(0), seconds, train_.wait_seconds());
    if (metrics_ && state_.steps_done % options_.log_every == 0) {
      metrics_->add(window_.take(state_.steps_done, state_.epochs_done + 1, result.lr));
    }
    step_start = now;
    show_progress(step, loss);
  }
  if (metrics_ && window_.num_steps() > 0) {
    metrics_->add(window_.take(state_.steps_done, state_.epochs_done + 1, result.lr));
  }
  ++state_.epochs_done;
  prepare_loader(state_.epochs_done);
  // Before the validation: the loader reads ahead during it.
  train_.start_epoch(state_.epochs_done);
  state_.loader = train_.state();

  result.train_loss = loss_sum / double(step);
  {
    const AveragedWeights averaged(average_.get());
    result.val = validate_model(*model_, val_);
  }
  result.seconds = seconds_since(start);
  if (state_.best_epoch == 0 || result.val.top1 > state_.best_top1) {
    state_.best_top1 = result.val.top1;
    state_.best_epoch = state_.epochs_done;
  }
  live_.clear();
  return result;
}

double TrainingRun::train_step(const TensorBatch& batch, double lr) {
  optimizer_->zero_grad();
  const at::Tensor logits = model_->forward(batch.images);
  const at::Tensor loss =
      classification_loss(logits, batch.labels, batch.mix_lambda, options_.label_smoothing);
  const double value = loss.item<double>();
  if (!std::isfinite(value)) return value;  // the weights stay as they are
  loss.backward();
  if (options_.clip_grad_norm > 0) {
    clip_gradient_norm(model_->parameters(), options_.clip_grad_norm);
  }
  optimizer_->step(lr);
  update_average();
  return value;
}

void TrainingRun::update_average() {
  if (!average_ || state_.steps_done % options_.ema_steps != 0) return;
  // As torchvision's reference training: weights that change as fast as in the warm-up are no use to an average.
  const bool is_warming_up =
      double(state_.steps_done) < options_.warmup_epochs * double(train_.num_batches());
  if (state_.steps_done == 0 || is_warming_up) {
    average_->reset();
  } else {
    average_->update();
  }
}

void TrainingRun::prepare_loader(int64_t epoch) {
  const int64_t size = train_image_size(options_, epoch);
  if (size == train_size_) return;
  train_size_ = size;
  train_ = DataSource(train_data_, train_loader_options(options_, process_, epoch),
                      int64_t(state_.classes.size()), options_.limit_batches);
}

void TrainingRun::show_progress(int64_t step, double loss) {
  const double rate = throughput_.images_per_second();
  const int64_t steps_left = options_.epochs * train_.num_batches() - state_.steps_done;
  live_.update({.epoch = state_.epochs_done + 1,
                .num_epochs = options_.epochs,
                .step = step,
                .num_steps = train_.num_batches(),
                .loss = loss,
                .images_per_second = rate,
                .wait_share = throughput_.wait_share(),
                .seconds_left = rate > 0 ? double(steps_left * options_.batch_size) / rate : 0});
}

void TrainingRun::report(const EpochResult& epoch) {
  if (metrics_) {
    metrics_->add(ValidationMetrics{.step = state_.steps_done,
                                    .epoch = state_.epochs_done,
                                    .train_loss = epoch.train_loss,
                                    .seconds = epoch.seconds,
                                    .result = epoch.val});
  }
  if (output_.lines == nullptr) return;
  fmt::print(output_.lines,
             "epoch {}/{}  train loss {:.4f}  val loss {:.4f}  top-1 {:.2f} %  top-5 {:.2f} %  lr "
             "{:.3g}  {:.0f} images/s  data wait {:.1f} %  {}\n",
             state_.epochs_done, options_.epochs, epoch.train_loss, epoch.val.loss,
             100 * epoch.val.top1, 100 * epoch.val.top5, epoch.lr, throughput_.images_per_second(),
             100 * throughput_.wait_share(), format_duration(epoch.seconds));
  std::fflush(output_.lines);
}

}  // namespace ffkit
