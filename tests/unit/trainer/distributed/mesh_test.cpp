#include "distributed/mesh.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "support/world.h"

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

}  // namespace
}  // namespace ffkit
