// Mesh: the processes of a world as a grid of named dimensions, for example 2 x "data" and 4 x
// "tensor". Along each dimension lies a group of processes, which is a Communicator of its own:
// gradients are averaged along "data", a layer that is divided is summed along "tensor".
//
//   Mesh mesh(world, {{"data", 2}, {"tensor", 4}});
//   DataParallel parallel(mesh.along("data"), model);
//   mesh.along("tensor").sum(partial_sums);
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <ffkit/trainer/task_registry.h>

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

}  // namespace ffkit
