#include "model_factory.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

#include "model_registry.h"

namespace ffkit {

std::unique_ptr<Model> make_model(const TrainOptions& options, int64_t num_classes) {
  const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  at::set_num_threads(options.compute_threads > 0 ? options.compute_threads : cores);
  at::manual_seed(options.seed);
  std::unique_ptr<Model> model =
      ModelRegistry::instance()
          .find(options.arch)
          .make({.num_classes = num_classes, .image_size = options.image_size});
  if (options.channels_last) model->use_channels_last();
  return model;
}

}  // namespace ffkit
