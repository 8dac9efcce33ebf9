#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "expect_error.h"
#include "step/trained_model.h"
#include "support/fake_task.h"
#include "support/world.h"

namespace ffkit {
namespace {

struct GridOptions : OwnOptions<GridOptions> {
  int rows = 2, columns = 1;
  void describe(OptionTable&, const TrainOptions&) override {}
};

// Six weights, which a grid of processes shares: the loss is the square of their scalar product
// with what the batch has.
class GridTask final : public testing::FakeTask {
 public:
  explicit GridTask(TaskSetting setting)
      : FakeTask(std::move(setting), at::ones({6}, at::kDouble).requires_grad_(true)) {}

  at::Tensor loss(const DeviceBatch& batch) override { return forward(batch).square(); }
  at::Tensor forward(const DeviceBatch& batch) override {
    Peers& rows = *setting().peers_along.at("row");
    Peers& columns = *setting().peers_along.at("column");
    const int64_t size = 6 / (rows.world_size() * columns.world_size());
    const int64_t begin = size * (int64_t{rows.rank()} * columns.world_size() + columns.rank());
    const at::Tensor whole = with_summed_gradient(with_summed_gradient(weight(), rows), columns);
    const at::Tensor own =
        (whole.narrow(0, begin, size) * batch.field("values").narrow(0, begin, size)).sum();
    return sum_of_peers(sum_of_peers(own, columns), rows);
  }
};

bool add_grid_task() {
  TaskEntry entry{.name = "grid", .metrics = {{.name = "loss"}}, .best = "loss"};
  entry.misfit = [](const Schema&) { return "no data set fits"; };
  entry.mesh = [](const TrainOptions& options) {
    const auto& own = options.task_options<GridOptions>();
    return std::vector<MeshDimension>{{.name = "row", .size = own.rows},
                                      {.name = "column", .size = own.columns}};
  };
  entry.make = [](TaskSetting setting) { return std::make_unique<GridTask>(std::move(setting)); };
  entry.make_options = [] { return std::make_unique<GridOptions>(); };
  TaskRegistry::instance().add(entry);
  return true;
}

TrainOptions grid_options(int rows, int columns) {
  static const bool is_added = add_grid_task();
  EXPECT_TRUE(is_added);
  TrainOptions options;
  options.task = "grid";
  options.task_options<GridOptions>().rows = rows;
  options.task_options<GridOptions>().columns = columns;
  options.momentum = 0;
  options.weight_decay = 0;
  options.compute_threads = 1;
  return options;
}

// The weights after a step of learning rate 0.01 on the batch of this process's place among those
// that share the samples.
at::Tensor weights_after_a_step(const TrainOptions& options, Communicator& world,
                                const std::vector<std::vector<double>>& batches) {
  const RunMesh mesh(options, world);
  const std::unique_ptr<Task> task = make_task(options, mesh);
  TrainedModel trained(*task, options, mesh.data());
  DeviceBatch batch;
  batch.fields.push_back(
      {.name = "values", .values = at::tensor(batches.at(size_t(mesh.data().rank())))});
  trained.step.begin(0);
  trained.step.add(batch, /*is_last=*/true);
  trained.step.end(0.01);
  return trained.model.parameters()[0].tensor.detach().clone();
}

// Two processes with a network each, and two grids of processes, make the same of two batches.
TEST(RunMesh, AveragesAlongDataAlone) {
  const std::vector<std::vector<double>> batches = {{1, 2, 3, 4, 5, 6}, {-1, 0, 2, 1, 1, 7}};
  std::vector<at::Tensor> expected(2);
  testing::run_world(2, [&](Communicator& c) {
    expected[size_t(c.rank())] = weights_after_a_step(grid_options(1, 1), c, batches);
  });
  EXPECT_TRUE(expected[0].equal(expected[1]));
  EXPECT_FALSE(expected[0].equal(at::ones({6}, at::kDouble)));
  for (const auto& [rows, columns] : {std::pair(3, 1), std::pair(1, 2), std::pair(3, 2)}) {
    testing::run_world(2 * rows * columns, [&, rows = rows, columns = columns](Communicator& c) {
      const at::Tensor weights = weights_after_a_step(grid_options(rows, columns), c, batches);
      EXPECT_TRUE(weights.allclose(expected[0], 1e-13, 1e-13)) << rows << " x " << columns;
    });
  }
}

TEST(RunMesh, GivesEachProcessItsPlace) {
  testing::run_world(8, [](Communicator& world) {
    const RunMesh mesh(grid_options(2, 2), world);
    EXPECT_EQ(mesh.data().world_size(), 2);
    EXPECT_EQ(mesh.data().rank(), world.rank() / 4);
    EXPECT_EQ(mesh.along("row").rank(), world.rank() / 2 % 2);
    EXPECT_EQ(mesh.along("column").rank(), world.rank() % 2);
    EXPECT_EQ(mesh.same_data().world_size(), 4);
    const double sum = mesh.same_data().sum(std::vector<double>{double(world.rank())})[0];
    EXPECT_EQ(sum, world.rank() < 4 ? 6 : 22);
    EXPECT_EQ(mesh.data().place().local_world_size, 8);
  });
}

// The rows of a grid hand numbers on.
TEST(RunMesh, PeersSendToEachOther) {
  testing::run_world(4, [](Communicator& world) {
    const TrainOptions options = grid_options(2, 1);
    const RunMesh mesh(options, world);
    CommunicatorPeers rows(mesh.along("row"));
    at::Tensor numbers = at::full({3}, double(world.rank()), at::kDouble);
    at::Tensor received = at::zeros({3}, at::kDouble);
    Transfer out = rows.start_send(numbers, 1 - rows.rank(), 5);
    Transfer in = rows.start_receive(received, 1 - rows.rank(), 5);
    out.wait();
    in.wait();
    EXPECT_EQ(received[0].item<double>(), world.rank() ^ 1);
  });
  at::Tensor numbers = at::zeros({1}, at::kDouble);
  EXPECT_ERROR(Peers().start_send(numbers, 1).wait(), invalid_argument);
}

TEST(RunMesh, OfOtherTasksIsTheWorld) {
  testing::run_world(2, [](Communicator& world) {
    TrainOptions options;
    options.task = "classification";
    const RunMesh mesh(options, world);
    EXPECT_EQ(&mesh.data(), &world);
    EXPECT_TRUE(mesh.same_data().is_alone());
    EXPECT_TRUE(mesh.dimensions().empty());
  });
}

TEST(RunMesh, RefusesProcessesThatMakeNoMesh) {
  Communicator alone({}, c10::kCPU);
  EXPECT_ERROR(RunMesh(grid_options(2, 3), alone), invalid_argument);
}

}  // namespace
}  // namespace ffkit
