#include "distributed/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include <ffkit/base/error.h>

#include "base/make_error.h"

namespace ffkit {

Mesh::Mesh(Communicator& world, std::vector<MeshDimension> dimensions)
    : dimensions_(std::move(dimensions)) {
  std::vector<std::string> sizes;
  int64_t product = 1;
  for (const MeshDimension& dimension : dimensions_) {
    sizes.push_back(fmt::format("{} {}", dimension.size, dimension.name));
    if (dimension.size < 1 ||
        std::ranges::count(dimensions_, dimension.name, &MeshDimension::name) > 1) {
      throw error_of(
          ErrorCode::invalid_argument,
          "a mesh of {} is not possible; give every dimension its own name and at least 1 process",
          fmt::join(sizes, " x "));
    }
    product *= dimension.size;
  }
  if (product != world.world_size()) {
    throw error_of(ErrorCode::invalid_argument,
                   "a mesh of {} needs {} processes, but {} were started", fmt::join(sizes, " x "),
                   product, world.world_size());
  }
  int stride = world.world_size();
  for (const MeshDimension& dimension : dimensions_) {
    stride /= dimension.size;
    const int index = world.rank() / stride % dimension.size;
    const int first = world.rank() - index * stride;
    std::vector<int> ranks;
    for (int i = 0; i < dimension.size; ++i) ranks.push_back(first + i * stride);
    groups_.push_back(world.part(dimension.name, ranks));
  }
}

Communicator& Mesh::along(std::string_view name) const {
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    if (dimensions_[i].name == name) return *groups_[i];
  }
  throw error_of(ErrorCode::not_found, "the mesh has no dimension '{}'", name);
}

RunMesh::RunMesh(const TrainOptions& options, Communicator& world) : world_(world) {
  const TaskEntry& entry = TaskRegistry::instance().find(options.task_name());
  if (entry.mesh) dimensions_ = entry.mesh(options);
  std::vector<std::string> sizes;
  int product = 1;
  for (const MeshDimension& dimension : dimensions_) {
    sizes.push_back(fmt::format("{} {}", dimension.size, dimension.name));
    product *= dimension.size;
  }
  if (dimensions_.empty()) {
    data_ = &world;
    model_part_ = world.part("alone", {world.rank()});
    same_data_ = model_part_.get();
    return;
  }
  if (product < 1 || world.world_size() % product != 0) {
    throw error_of(ErrorCode::invalid_argument,
                   "a network divided over {0} needs a multiple of {1} processes, but {2} were "
                   "started; start a multiple of {1} processes",
                   fmt::join(sizes, " x "), product, world.world_size());
  }
  std::vector<MeshDimension> all = {{.name = "data", .size = world.world_size() / product}};
  all.insert(all.end(), dimensions_.begin(), dimensions_.end());
  mesh_ = std::make_unique<Mesh>(world, std::move(all));
  data_ = &mesh_->along("data");
  if (dimensions_.size() == 1) {
    same_data_ = &mesh_->along(dimensions_.front().name);
    return;
  }
  std::vector<int> ranks;
  for (int i = 0; i < product; ++i) ranks.push_back(mesh_->index("data") * product + i);
  model_part_ = world.part("same data", ranks);
  same_data_ = model_part_.get();
}

}  // namespace ffkit
