// Mesh: the processes of a world as a grid of named dimensions, for example 2 x "data" and 4 x
// "tensor". Along each dimension lies a group of processes, which is a Communicator of its own:
// gradients are averaged along "data", a layer that is divided is summed along "tensor".
//
//   Mesh mesh(world, {{"data", 2}, {"tensor", 4}});
//   DataParallel parallel(mesh.along("data"), model);
//   mesh.along("tensor").sum(partial_sums);
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/trainer/task_registry.h>
#include <ffkit/trainer/train_options.h>

#include "distributed/communicator.h"

namespace ffkit {

class Mesh {
 public:
  // The last dimension's neighbours have neighbouring ranks: with the sizes 2 and 4, rank 5 has the
  // indices 1 and 1. All processes of `world` make the same mesh; `world` must outlive it. Throws
  // Error(invalid_argument) unless the product of the sizes is the size of the world and the names
  // differ, and what Communicator throws.
  Mesh(Communicator& world, std::vector<MeshDimension> dimensions);

  // The processes that have this one's place in all dimensions but `name`, ranked by their index in
  // it. Throws Error(not_found) for an unknown name, as the following ones.
  Communicator& along(std::string_view name) const;
  int index(std::string_view name) const { return along(name).rank(); }
  int size(std::string_view name) const { return along(name).world_size(); }

 private:
  std::vector<MeshDimension> dimensions_;
  std::vector<std::unique_ptr<Communicator>> groups_;  // by dimension
};

// RunMesh: the processes of a run as its task wants them: "data", along which samples are shared
// and gradients averaged, times the dimensions of TaskEntry::mesh, along which processes compute
// one network.
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
