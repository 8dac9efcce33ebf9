// What a run must not go on with: a checkpoint of another run, and numbers that are none.
#include <fmt/format.h>

#include <cmath>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "model/parameters.h"
#include "training_run.h"

namespace ffkit {
namespace {}  // namespace

void TrainingRun::check_fits(const CheckpointInfo& stored,
                             const std::filesystem::path& checkpoint) const {
  // What the options or the data contradict is said before the tensors are compared: they would
  // only show the consequences.
  const std::string misfit = task_->misfit(stored.options, stored.facts);
  if (!misfit.empty()) throw error_at(checkpoint, ErrorCode::invalid_argument, misfit);
  if (stored.loader.fingerprint != state_.loader.fingerprint) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "its run was on other data than {}; give the same data set, or start a new run",
                   options_.data.string());
  }
  const std::string order = train_->state().order;
  if (options_.data.are_several() && stored.loader.order != order) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "its run had the order '{}', and {} give '{}'; give the weights of its run, {}, "
                   "or start a new one",
                   stored.loader.order, options_.data.string(), order,
                   stored.options.data.string());
  }
  if (stored.loader.seed != state_.loader.seed) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "its run has the seed {}, but {} was asked for", stored.loader.seed,
                   options_.seed);
  }
  if (is_out_of_patience(stored, options_)) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   "its last {} validations were no better than that of epoch {}; give more "
                   "{} to go on",
                   options_.patience, stored.best_epoch, option_name("patience"));
  }
  if (is_finished(stored, options_)) {
    throw error_at(checkpoint, ErrorCode::invalid_argument,
                   options_.steps > 0
                       ? fmt::format("its run has done {} of {} steps; give more {} to go on",
                                     stored.steps_done, options_.steps, option_name("steps"))
                       : fmt::format("its run has done {} of {} epochs; give more {} to go on",
                                     stored.epochs_done, options_.epochs, option_name("epochs")));
  }
}

// A run whose last validation gave nothing to judge it by has not ended well.
void TrainingRun::require_judged(const EvalResult& last) const {
  if (!last.has_value(entry_.best) || std::isfinite(last.value(entry_.best))) return;
  throw error_of(
      ErrorCode::invalid_argument, "the last validation gave {}, which is no number; {}{}",
      metric_text(entry_.best_metric(), last.value(entry_.best)),
      best_text(entry_, state_.best, state_.best_epoch),
      checkpoints_.last().empty() ? ""
                                  : fmt::format("; the last checkpoint with finite weights is {}",
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
