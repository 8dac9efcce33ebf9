#include "tasks/classification/validation.h"

#include <ATen/core/grad_mode.h>

#include "device/autocast.h"
#include "distributed/stop_vote.h"
#include "report/meters.h"

namespace ffkit {

std::optional<EvalResult> validate_model(Model& model, BatchSource& source, Amp amp,
                                         Communicator& communicator) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  AccuracyMeter meter;
  StopVote vote(communicator);
  source.start_epoch(0);
  while (!vote.is_stopped()) {
    const std::optional<TensorBatch> batch = source.next();
    if (!batch) break;
    at::Tensor logits;
    {
      const Autocast autocast(amp, communicator.device());
      logits = model.forward(batch->images);
    }
    meter.add(logits.to(at::kFloat), batch->labels);
  }
  model.set_training(true);
  // Some may have been done before they heard of it.
  if (vote.close()) return std::nullopt;
  meter.sum_over(communicator);
  return meter.result();
}

}  // namespace ffkit
