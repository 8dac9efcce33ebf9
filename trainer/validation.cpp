#include "validation.h"

#include <ATen/core/grad_mode.h>

#include "meters.h"

namespace ffkit {

EvalResult validate_model(Model& model, DataSource& source) {
  at::NoGradGuard no_grad;
  model.set_training(false);
  AccuracyMeter meter;
  source.start_epoch(0);
  while (std::optional<TensorBatch> batch = source.next()) {
    meter.add(model.forward(batch->images), batch->labels);
  }
  model.set_training(true);
  return meter.result();
}

}  // namespace ffkit
