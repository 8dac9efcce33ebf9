#include <ffkit/launch/stop.h>

#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "step/training_step.h"
#include "support/fake_task.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

TEST(Peers, GatherRowsOfAnyNumber) {
  testing::run_world(3, [](Communicator& communicator) {
    CommunicatorPeers peers(communicator);
    // Rank 0 has no row, rank 1 one, rank 2 two.
    const std::vector<at::Tensor> all =
        peers.gather_rows(at::full({peers.rank(), 2}, double(peers.rank()), at::kDouble));
    EXPECT_EQ(all.size(), 3U);
    for (int64_t rank = 0; rank < int64_t(all.size()); ++rank) {
      const at::Tensor& rows = all[size_t(rank)];
      EXPECT_EQ(rows.sizes(), (std::vector<int64_t>{rank, 2}));
      EXPECT_TRUE(rows.eq(double(rank)).all().item<bool>());
    }
    at::Tensor numbers = at::full({2}, double(peers.rank()), at::kDouble);
    peers.sum(numbers);
    EXPECT_EQ(numbers[0].item<double>(), 3);
  });
}

TEST(Peers, OfAProcessAloneGiveWhatTheyGot) {
  const std::shared_ptr<Peers> peers = TaskSetting().peers;
  EXPECT_EQ(peers->rank(), 0);
  EXPECT_EQ(peers->world_size(), 1);
  at::Tensor numbers = at::full({2}, 5.0, at::kDouble);
  peers->sum(numbers);
  EXPECT_EQ(numbers[1].item<double>(), 5);
  EXPECT_EQ(peers->gather_rows(numbers).at(0).sizes(), (std::vector<int64_t>{2}));
}

TEST(Peers, ShareTheIndicesOfADimension) {
  testing::run_world(2, [](Communicator& communicator) {
    CommunicatorPeers peers(communicator);
    const double weight = 1 + peers.rank();
    const at::Tensor numbers = at::arange(12, at::kDouble).view({2, 6});
    const at::Tensor own_numbers = numbers.narrow(1, 3 * peers.rank(), 3);
    const at::Tensor own = own_numbers.clone().requires_grad_();
    const at::Tensor all = gathered_from_peers(own, 1, peers);
    EXPECT_TRUE(all.equal(numbers));
    (all * numbers * weight).sum().backward();
    EXPECT_TRUE(own.grad().equal(own_numbers * 3));  // of both processes

    const at::Tensor summand = (numbers * weight).requires_grad_();
    const at::Tensor share = sum_share_of_peers(summand, 1, peers);
    EXPECT_TRUE(share.equal(own_numbers * 3));
    (share * weight).sum().backward();
    EXPECT_TRUE(summand.grad().narrow(1, 0, 3).eq(1).all().item<bool>());
    EXPECT_TRUE(summand.grad().narrow(1, 3, 3).eq(2).all().item<bool>());
  });
  Peers alone;
  const at::Tensor number = at::full({1}, 2.0);
  EXPECT_TRUE(gathered_from_peers(number, 0, alone).is_same(number));
  EXPECT_TRUE(sum_share_of_peers(number, 0, alone).is_same(number));
}

// A detector in small: each object of the batch pulls at the one weight, and the loss is divided by
// the number of objects of all processes.
class ObjectsTask final : public testing::FakeTask {
 public:
  explicit ObjectsTask(TaskSetting setting)
      : FakeTask(std::move(setting), at::zeros({1}, at::kFloat).requires_grad_(true)) {}

  at::Tensor loss(const DeviceBatch& batch) override {
    const at::Tensor pulls = forward(batch);
    at::Tensor num_objects = at::full({1}, double(pulls.numel()), at::kDouble);
    setting().peers->sum(num_objects);
    return pulls.sum() / (num_objects.item<double>() / setting().peers->world_size());
  }
  at::Tensor forward(const DeviceBatch& batch) override {
    return batch.field("objects") * weight();
  }
};

// The weight after a step of learning rate 1 from 0: minus its gradient.
double weight_after_a_step(Communicator& communicator, const std::vector<float>& objects) {
  TrainOptions options;
  options.task = "objects";
  options.momentum = 0;
  options.weight_decay = 0;
  options.compute_threads = 1;
  const RunMesh mesh(options, communicator);
  const std::unique_ptr<Task> task = make_task(options, mesh);
  TrainedModel trained(*task, options, mesh.data());
  DeviceBatch batch;
  batch.fields.push_back({.name = "objects", .values = at::tensor(objects)});
  trained.step.begin(0);
  trained.step.add(batch, /*is_last=*/true);
  trained.step.end(1);
  return trained.model.parameters()[0].tensor.item<double>();
}

TEST(Peers, DivideALossByANumberOfAllProcesses) {
  TaskEntry entry{.name = "objects", .metrics = {{.name = "loss"}}, .best = "loss"};
  entry.misfit = [](const Schema&) { return "no data set fits"; };
  entry.make = [](TaskSetting setting) {
    return std::make_unique<ObjectsTask>(std::move(setting));
  };
  TaskRegistry::instance().add(entry);

  // (1 + 2 + 3 + 6) / 4 objects, wherever they are.
  Communicator alone({}, c10::kCPU);
  EXPECT_EQ(weight_after_a_step(alone, {1, 2, 3, 6}), -3);
  testing::run_world(2, [](Communicator& c) {
    EXPECT_EQ(
        weight_after_a_step(c, c.rank() == 0 ? std::vector<float>{1, 2, 3} : std::vector<float>{6}),
        -3);
  });
}

TEST(StopDeathTest, EndsTheWaitForProcessesThatDoNotCome) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        stop_on_signals();
        request_stop(SIGTERM);
        ProcessPlace place;
        place.rank = 1;
        place.world_size = 2;
        place.meeting_point = "tcp://127.0.0.1:1";
        place.timeout_seconds = 600;
        const Communicator communicator(place, c10::kCPU);
        std::_Exit(3);
      },
      ::testing::ExitedWithCode(kExitStopped), "while it was waiting for the other processes");
}

TEST(SharedStop, IsNotRequestedUntilSomebodyIsAsked) {
  testing::run_world(2, [](Communicator& communicator) {
    EXPECT_FALSE(communicator.is_stop_requested());
    communicator.barrier();
  });
}

TEST(SharedStop, IsHeardByAll) {
  request_stop(SIGTERM);
  testing::run_world(2, [](Communicator& communicator) {
    EXPECT_TRUE(communicator.is_stop_requested());
    communicator.barrier();
  });
  request_stop(0);
}

}  // namespace
}  // namespace ffkit
