#include "model_factory.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "launch/core_share.h"
#include "model/model_registry.h"
#include "model/zero_init_residual.h"

namespace ffkit {

std::unique_ptr<Model> make_model(const TrainOptions& options, int64_t num_classes,
                                  const Communicator& communicator) {
  at::set_num_threads(options.compute_threads > 0 ? options.compute_threads
                                                  : core_share(communicator.local_world_size()));
  at::manual_seed(options.seed);
  std::unique_ptr<Model> model =
      ModelRegistry::instance()
          .find(options.arch)
          .make({.num_classes = num_classes, .image_size = options.image_size});
  if (options.zero_init_residual) zero_init_residual(*model);
  if (options.channels_last) model->use_channels_last();
  if (!communicator.device().is_cpu()) model->to(communicator.device());
  return model;
}

}  // namespace ffkit
