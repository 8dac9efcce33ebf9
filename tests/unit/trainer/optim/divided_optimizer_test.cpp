#include <ATen/ops/sin.h>

#include "optim/optimizer.h"
#include "support/fake_model.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// Rows that three processes share evenly, unevenly and not at all, a number, and four dimensions in
// channels_last.
std::vector<NamedTensor> divided_parameters() {
  std::vector<NamedTensor> out;
  double seed = 0;
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{6, 2}, {7}, {2, 3}, {}, {4, 3, 2, 2}}) {
    int64_t count = 1;
    for (const int64_t n : shape) count *= n;
    at::Tensor t = at::sin(at::arange(count) + ++seed).view(shape);
    if (t.dim() == 4) t = t.contiguous(at::MemoryFormat::ChannelsLast);
    out.push_back({std::string(1, char('a' + out.size())), t.requires_grad_()});
  }
  return out;
}

// After three steps, the second one without a gradient of the first parameter.
std::vector<at::Tensor> weights_after_steps(const TrainOptions& options, Communicator* data,
                                            int64_t& num_kept) {
  const std::vector<NamedTensor> parameters = divided_parameters();
  const testing::FakeModel model(parameters, {});
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, model, {}, data);
  for (int step = 0; step < 3; ++step) {
    optimizer->zero_grad();
    for (const NamedTensor& p : parameters) {
      if (step == 1 && p.name == "a") continue;
      p.tensor.mutable_grad() = (p.tensor.detach() * 0.5 + step).contiguous();
    }
    optimizer->step(0.1);
  }
  num_kept = 0;
  for (const NamedTensor& t : optimizer->state()) num_kept += t.tensor.numel();
  std::vector<at::Tensor> out;
  for (const NamedTensor& p : parameters) out.push_back(p.tensor.detach());
  return out;
}

TEST(DividedOptimizer, UpdatesAsOneThatIsNot) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd}) {
    TrainOptions options;
    options.optimizer = kind;
    options.weight_decay = 0.1;
    options.norm_decay = false;
    int64_t num_whole = 0;
    const std::vector<at::Tensor> whole = weights_after_steps(options, nullptr, num_whole);
    options.shard_optimizer = true;
    testing::run_world(3, [&](Communicator& world) {
      int64_t num_kept = 0;
      const std::vector<at::Tensor> own = weights_after_steps(options, &world, num_kept);
      for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(own[i].allclose(whole[i], 1e-6, 1e-7)) << i;
        for (const at::Tensor& other : world.all_gather(own[i].contiguous()))
          EXPECT_TRUE(own[i].equal(other)) << i;
      }
      EXPECT_LT(double(num_kept), 0.5 * double(num_whole));
    });
  }
}

TEST(DividedOptimizer, SharesAllRows) {
  for (const int64_t rows : {0, 1, 2, 7, 50257}) {
    for (const int size : {1, 2, 3, 8}) {
      int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const RowShare share = row_share(rows, rank, size);
        EXPECT_EQ(share.begin, next);
        next += share.count;
        EXPECT_LE(share.count, rows / size + 1);
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(DividedOptimizer, IsNotForLars) {
  TrainOptions options;
  options.optimizer = OptimizerKind::lars;
  options.shard_optimizer = true;
  EXPECT_ERROR(validate(options), invalid_argument);
}

}  // namespace
}  // namespace ffkit
