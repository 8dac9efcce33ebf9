#include "training_run.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include <ffkit/format/error.h>

#include "lr_schedule.h"
#include "model_factory.h"
#include "model_registry.h"
#include "validation.h"
#include "weights.h"

namespace ffkit {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

SgdOptions sgd_options(const TrainOptions& o) {
  return {.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = o.weight_decay};
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
      optimizer_(model_->parameters(), sgd_options(options)),
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
    refuse(checkpoint,
           fmt::format("is of arch {}, but {} was asked for", stored.options.arch, options_.arch));
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
  state_ = load_checkpoint(checkpoint, *model_, &optimizer_);
  state_.options = options_;
}

void TrainingRun::load_pretrained() {
  const Weights weights = read_weights(options_.pretrained);
  const ModelEntry& entry = ModelRegistry::instance().find(options_.arch);
  if (load_weights(weights, entry, *model_, HeadPolicy::may_differ)) return;
  if (output_.lines == nullptr) return;
  fmt::print(output_.lines,
             "{}: its head has {} classes and the data set {}; the head is drawn anew\n",
             options_.pretrained.string(), num_classes(weights, entry), state_.classes.size());
  std::fflush(output_.lines);
}

TrainSummary TrainingRun::run(const std::optional<WorkDir>& work_dir) {
  const Clock::time_point start = Clock::now();
  TrainSummary summary;
  // With another batch size than before the schedule goes on from the same epoch.
  state_.steps_done = state_.epochs_done * train_.num_batches();
  train_.restore(state_.loader);
  while (state_.epochs_done < options_.epochs) {
    const EpochResult epoch = run_epoch();
    summary.last = epoch.val;
    ++summary.epochs_done;
    if (work_dir) {
      summary.checkpoint = work_dir->checkpoint_path(state_.epochs_done);
      save_checkpoint(summary.checkpoint, state_, *model_, optimizer_);
      work_dir->prune(options_.keep_checkpoints, state_.best_epoch);
    }
    report(epoch, work_dir);
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
    throughput_.add_step(batch->labels.size(0),
                         std::chrono::duration<double>(now - step_start).count(),
                         train_.wait_seconds());
    step_start = now;
    show_progress(step, loss);
  }
  ++state_.epochs_done;
  // Before the validation: the loader reads ahead during it.
  train_.start_epoch(state_.epochs_done);
  state_.loader = train_.state();

  result.train_loss = loss_sum / double(step);
  result.val = validate_model(*model_, val_);
  result.seconds = seconds_since(start);
  if (state_.best_epoch == 0 || result.val.top1 > state_.best_top1) {
    state_.best_top1 = result.val.top1;
    state_.best_epoch = state_.epochs_done;
  }
  live_.clear();
  return result;
}

double TrainingRun::train_step(const TensorBatch& batch, double lr) {
  optimizer_.zero_grad();
  const at::Tensor logits = model_->forward(batch.images);
  const at::Tensor loss = at::cross_entropy_loss(logits, batch.labels, {}, at::Reduction::Mean,
                                                 /*ignore_index=*/-100, options_.label_smoothing);
  const double value = loss.item<double>();
  if (!std::isfinite(value)) return value;  // the weights stay as they are
  loss.backward();
  optimizer_.step(lr);
  return value;
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

void TrainingRun::report(const EpochResult& epoch, const std::optional<WorkDir>& work_dir) {
  if (work_dir) {
    const nlohmann::ordered_json line = {{"epoch", state_.epochs_done},
                                         {"steps", state_.steps_done},
                                         {"lr", epoch.lr},
                                         {"train_loss", epoch.train_loss},
                                         {"val_loss", epoch.val.loss},
                                         {"val_top1", epoch.val.top1},
                                         {"val_top5", epoch.val.top5},
                                         {"val_images", epoch.val.num_images},
                                         {"images_per_second", throughput_.images_per_second()},
                                         {"data_wait_share", throughput_.wait_share()},
                                         {"seconds", epoch.seconds}};
    work_dir->append_log(line.dump());
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
