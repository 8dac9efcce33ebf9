// RunMesh: the processes of a run as its task wants them: "data", along which samples are shared
// and gradients averaged, times the dimensions of TaskEntry::mesh, along which processes compute
// one network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ffkit/trainer/train_options.h>

#include "distributed/communicator.h"
#include "distributed/mesh.h"

namespace ffkit {

class RunMesh {
 public:
  // Collective; `options` name the task, and `world` must outlive it. Throws
  // Error(invalid_argument) when the number of processes is no multiple of what the task's
  // dimensions make.
  RunMesh(const TrainOptions& options, Communicator& world);

  Communicator& world() const { return world_; }
  // `world` itself where the task has no dimensions of its own.
  Communicator& data() const { return *data_; }
  // The processes that have the same batches as this one.
  Communicator& same_data() const { return *same_data_; }
  // The dimensions of the task, without "data".
  const std::vector<MeshDimension>& dimensions() const { return dimensions_; }
  Communicator& along(const std::string& dimension) const { return mesh_->along(dimension); }

 private:
  Communicator& world_;
  std::vector<MeshDimension> dimensions_;
  std::unique_ptr<Mesh> mesh_;                // null without dimensions
  std::unique_ptr<Communicator> model_part_;  // same_data(), where it is no dimension's
  Communicator* data_ = nullptr;
  Communicator* same_data_ = nullptr;
};

}  // namespace ffkit
