#include "model_factory.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

#include "resnet.h"
#include "zero_init_residual.h"

namespace ffkit {

std::unique_ptr<Model> make_model(const TrainOptions& options, int64_t num_classes) {
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  at::set_num_threads(options.compute_threads > 0 ? options.compute_threads : cores);
  at::manual_seed(options.seed);
  std::unique_ptr<Model> model = make_resnet(options.arch, num_classes);
  if (options.zero_init_residual) zero_init_residual(*model);
  if (options.channels_last) model->use_channels_last();
  return model;
}

}  // namespace ffkit
