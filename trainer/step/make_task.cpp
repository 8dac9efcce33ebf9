#include "step/make_task.h"

#include <utility>

#include <ffkit/trainer/task_registry.h>

#include "distributed/communicator_peers.h"

namespace ffkit {

std::unique_ptr<Task> make_task(const TrainOptions& options, const RunMesh& mesh) {
  TaskSetting setting{.options = options,
                      .place = mesh.data().place(),
                      .device = mesh.world().device(),
                      .peers = std::make_shared<CommunicatorPeers>(mesh.data())};
  for (const MeshDimension& dimension : mesh.dimensions()) {
    setting.peers_along.emplace(dimension.name,
                                std::make_shared<CommunicatorPeers>(mesh.along(dimension.name)));
  }
  return TaskRegistry::instance().find(options.task_name()).make(std::move(setting));
}

}  // namespace ffkit
