#include "step/make_task.h"

#include <ffkit/trainer/task_registry.h>

#include "step/peers.h"

namespace ffkit {

std::unique_ptr<Task> make_task(const TrainOptions& options, Communicator& communicator) {
  return TaskRegistry::instance()
      .find(options.task_name())
      .make({.options = options,
             .place = communicator.place(),
             .device = communicator.device(),
             .peers = std::make_shared<CommunicatorPeers>(communicator)});
}

}  // namespace ffkit
