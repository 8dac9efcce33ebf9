#include "distributed/mesh.h"

#include <ffkit/trainer/task.h>

#include "distributed/communicator.h"
#include "step/training_step.h"
#include "support/fake_task.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// Of rank r in a world of 2 x 3: data index r / 3, tensor index r % 3.
TEST(Mesh, GroupsAreRowsAndColumns) {
  testing::run_world(6, [](Communicator& world) {
    const Mesh mesh(world, {{"data", 2}, {"tensor", 3}});
    EXPECT_EQ(mesh.size("data"), 2);
    EXPECT_EQ(mesh.size("tensor"), 3);
    EXPECT_EQ(mesh.index("data"), world.rank() / 3);
    EXPECT_EQ(mesh.index("tensor"), world.rank() % 3);
    const double own = world.rank();
    EXPECT_EQ(mesh.along("tensor").sum(std::vector<double>{own})[0], world.rank() < 3 ? 3 : 12);
    EXPECT_EQ(mesh.along("data").sum(std::vector<double>{own})[0], 2 * (world.rank() % 3) + 3);
    // Rank 0 of a group is its first process, not that of the world.
    EXPECT_EQ(mesh.along("tensor").broadcast(std::to_string(world.rank())),
              world.rank() < 3 ? "0" : "3");
    const auto all = mesh.along("data").all_gather(at::full({1}, own, at::kDouble));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].item<double>(), world.rank() % 3 + 3);
    EXPECT_ERROR(mesh.along("pipeline"), not_found);
  });
}

TEST(Mesh, OfOneProcessDoesNothing) {
  Communicator alone({}, c10::kCPU);
  const Mesh mesh(alone, {{"data", 1}, {"tensor", 1}});
  EXPECT_TRUE(mesh.along("tensor").is_alone());
  EXPECT_EQ(mesh.along("data").sum(std::vector<double>{2})[0], 2);
}

TEST(Mesh, RefusesSizesThatDoNotFit) {
  Communicator alone({}, c10::kCPU);
  EXPECT_ERROR(Mesh(alone, {{"data", 2}, {"tensor", 3}}), invalid_argument);
  EXPECT_ERROR(Mesh(alone, {{"data", 1}, {"data", 1}}), invalid_argument);
  EXPECT_ERROR(Mesh(alone, {{"data", 0}}), invalid_argument);
}

// Each process of a pipeline adds its rank and hands the numbers on; both directions at once.
TEST(Communicator, SendsToOneProcess) {
  testing::run_world(3, [](Communicator& world) {
    const int rank = world.rank();
    at::Tensor numbers = at::arange(4, at::kFloat);
    if (rank > 0) {
      numbers = at::zeros({4}, at::kFloat);
      world.receive(numbers, rank - 1);
      numbers += rank;
    }
    if (rank < 2) world.send(numbers, rank + 1);
    EXPECT_TRUE(numbers.equal(at::arange(4, at::kFloat) + (rank == 2 ? 3 : rank)));

    const int next = (rank + 1) % 3;
    const int previous = (rank + 2) % 3;
    at::Tensor from_previous = at::zeros({2}, at::kDouble);
    at::Tensor from_next = at::zeros({2}, at::kDouble);
    const at::Tensor own = at::full({2}, rank, at::kDouble);
    std::vector<Transfer> transfers;
    transfers.push_back(world.start_send(own, next, 1));
    transfers.push_back(world.start_send(own, previous, 2));
    transfers.push_back(world.start_receive(from_previous, previous, 1));
    transfers.push_back(world.start_receive(from_next, next, 2));
    for (Transfer& transfer : transfers) transfer.wait();
    EXPECT_EQ(from_previous[0].item<double>(), previous);
    EXPECT_EQ(from_next[1].item<double>(), next);
  });
}

TEST(Communicator, SaysWhoDidNotSend) {
  const auto leave = [](Communicator& c) {
    c.barrier();
    if (c.rank() == 1) return;
    at::Tensor numbers = at::zeros({4}, at::kFloat);
    c.receive(numbers, 1);
  };
  EXPECT_ERROR(testing::run_world(2, leave, 20), io);
}

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
