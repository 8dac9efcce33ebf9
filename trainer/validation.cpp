#include "validation.h"

#include <ATen/core/grad_mode.h>

#include "autocast.h"
#include "meters.h"

namespace ffkit {

EvalResult validate_model(Model& model, BatchSource& source, Amp amp, Communicator& communicator) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  AccuracyMeter meter;
  source.start_epoch(0);
  while (std::optional<TensorBatch> batch = source.next()) {
    at::Tensor logits;
    {
      const Autocast autocast(amp, communicator.device());
      logits = model.forward(batch->images);
    }
    meter.add(logits.to(at::kFloat), batch->labels);
  }
  model.set_training(true);
  meter.sum_over(communicator);
  return meter.result();
}

}  // namespace ffkit
