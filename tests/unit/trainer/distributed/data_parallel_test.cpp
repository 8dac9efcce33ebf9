#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/native_batch_norm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "distributed/batch_norm.h"
#include "distributed/communicator.h"
#include "distributed/mesh.h"
#include "support/world.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

at::Tensor random(uint64_t seed, at::IntArrayRef shape) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::TensorOptions(at::kDouble));
}

// A convolution, a norm and a linear layer in float64, always with the same weights.
class SmallModel : public Model {
 public:
  explicit SmallModel(uint64_t seed = 7) {
    convolution_->to(at::kDouble);
    norm_->to(at::kDouble);
    linear_->to(at::kDouble);
    at::NoGradGuard no_grad;
    for (const NamedTensor& p : parameters())
      at::Tensor(p.tensor).copy_(random(seed++, p.tensor.sizes()));
  }
  at::Tensor forward(const at::Tensor& images) {
    return linear_(norm_(convolution_(images)).relu().mean(at::IntArrayRef{2, 3}));
  }
  void set_training(bool on) override { norm_->train(on); }
  void use_channels_last() override {}
  void to(c10::Device) override {}
  std::vector<NamedTensor> parameters() const override {
    return {{"conv.weight", convolution_->weight},
            {"bn.weight", norm_->weight},
            {"bn.bias", norm_->bias},
            {"fc.weight", linear_->weight}};
  }
  std::vector<NamedTensor> buffers() const override {
    return {{"bn.running_mean", norm_->running_mean}, {"bn.running_var", norm_->running_var}};
  }
  void synchronise_batch_norm(Communicator& c) override { norm_->synchronise(c); }

 private:
  mutable torch::nn::Conv2d convolution_{torch::nn::Conv2dOptions(3, 4, 3).bias(false)};
  mutable BatchNorm norm_{4};
  mutable torch::nn::Linear linear_{torch::nn::LinearOptions(4, 5).bias(false)};
};

at::Tensor loss_of(SmallModel& model, const at::Tensor& images) {
  return model.forward(images).square().mean();
}

struct Reference {
  std::vector<at::Tensor> gradients, buffers;
};

// Of all pictures in one process.
Reference reference(const std::vector<at::Tensor>& shares, uint64_t seed = 7) {
  SmallModel model(seed);
  loss_of(model, at::cat(shares)).backward();
  Reference out;
  for (const NamedTensor& p : model.parameters()) out.gradients.push_back(p.tensor.grad());
  for (const NamedTensor& b : model.buffers()) out.buffers.push_back(b.tensor);
  return out;
}

TEST(DataParallel, AveragesGradientsAsOneProcessWould) {
  const std::vector<at::Tensor> shares = {random(1, {2, 3, 6, 6}), random(2, {2, 3, 6, 6})};
  const Reference expected = reference(shares);
  testing::run_world(2, [&](Communicator& c) {
    SmallModel model(c.rank() == 0 ? 7 : 99);  // rank 1 gets rank 0's weights
    model.synchronise_batch_norm(c);
    DataParallel parallel(c, model);
    for (int step = 0; step < 3; ++step) {  // the buckets are made anew after the first
      for (const NamedTensor& p : model.parameters()) p.tensor.mutable_grad().reset();
      for (const NamedTensor& b : model.buffers())
        at::Tensor(b.tensor).fill_(b.name.ends_with("var") ? 1 : 0);
      parallel.before_forward();
      const at::Tensor loss = loss_of(model, shares[size_t(c.rank())]);
      parallel.before_backward();
      loss.backward();
      for (size_t i = 0; i < expected.gradients.size(); ++i) {
        EXPECT_TRUE(
            model.parameters()[i].tensor.grad().allclose(expected.gradients[i], 1e-10, 1e-12))
            << "step " << step << " tensor " << i;
      }
      for (size_t i = 0; i < expected.buffers.size(); ++i) {
        EXPECT_TRUE(model.buffers()[i].tensor.allclose(expected.buffers[i], 1e-10, 1e-12)) << i;
      }
    }
  });
}

// They have no gradient to wait for.
TEST(DataParallel, FrozenParametersAreRankZerosAndStay) {
  testing::run_world(2, [&](Communicator& c) {
    SmallModel model(c.rank() == 0 ? 7 : 99);
    model.parameters()[0].tensor.set_requires_grad(false);
    DataParallel parallel(c, model);
    EXPECT_TRUE(model.parameters()[0].tensor.equal(SmallModel(7).parameters()[0].tensor));
    for (int step = 0; step < 2; ++step) {
      for (const NamedTensor& p : model.parameters()) p.tensor.mutable_grad().reset();
      parallel.before_forward();
      const at::Tensor loss = loss_of(model, random(1 + uint64_t(c.rank()), {2, 3, 6, 6}));
      parallel.before_backward();
      loss.backward();
      EXPECT_FALSE(model.parameters()[0].tensor.grad().defined());
      const at::Tensor gradient = model.parameters()[3].tensor.grad();
      EXPECT_TRUE(gradient.equal(c.all_gather(gradient.contiguous())[0]));
    }
  });
}

TEST(DataParallel, AddsUpWithoutTalkingUntilTheLastBatch) {
  // The norm sees each batch alone, so the sum of both is the reference.
  std::vector<at::Tensor> batches;
  for (uint64_t seed = 1; seed <= 4; ++seed) batches.push_back(random(seed, {2, 3, 6, 6}));
  SmallModel single;
  for (const at::Tensor& b : batches) (loss_of(single, b) / 4).backward();
  testing::run_world(2, [&](Communicator& c) {
    SmallModel model;
    DataParallel parallel(c, model);
    for (int step = 0; step < 2; ++step) {
      for (const NamedTensor& p : model.parameters()) p.tensor.mutable_grad().reset();
      parallel.before_forward();
      for (size_t i = 0; i < 2; ++i) {
        const at::Tensor loss = loss_of(model, batches[size_t(c.rank()) * 2 + i]) / 2;
        if (i == 1) parallel.before_backward();
        loss.backward();
        // Not yet an average: the two processes have other gradients.
        if (i == 0) {
          const at::Tensor own = model.parameters()[0].tensor.grad();
          EXPECT_FALSE(own.allclose(single.parameters()[0].tensor.grad(), 1e-3));
        }
      }
      for (size_t i = 0; i < single.parameters().size(); ++i) {
        EXPECT_TRUE(model.parameters()[i].tensor.grad().allclose(
            single.parameters()[i].tensor.grad(), 1e-10, 1e-12))
            << i;
      }
    }
  });
}

// Two halves of a model, say, each on two processes: each half's gradients are averages over its
// two.
TEST(DataParallel, AveragesAlongOneDimensionOfAMesh) {
  const std::vector<at::Tensor> shares = {random(1, {2, 3, 6, 6}), random(2, {2, 3, 6, 6})};
  const Reference expected[] = {reference(shares, 7), reference(shares, 50)};
  testing::run_world(4, [&](Communicator& world) {
    const Mesh mesh(world, {{"data", 2}, {"tensor", 2}});
    Communicator& data = mesh.along("data");
    SmallModel model(mesh.index("tensor") == 0 ? 7 : 50);
    model.synchronise_batch_norm(data);
    DataParallel parallel(data, model);
    parallel.before_forward();
    const at::Tensor loss = loss_of(model, shares[size_t(data.rank())]);
    parallel.before_backward();
    loss.backward();
    const Reference& own = expected[mesh.index("tensor")];
    for (size_t i = 0; i < own.gradients.size(); ++i) {
      EXPECT_TRUE(model.parameters()[i].tensor.grad().allclose(own.gradients[i], 1e-10, 1e-12))
          << i;
    }
  });
}

TEST(SynchronisedBatchNorm, TakesSharesOfAnySize) {
  const std::vector<at::Tensor> shares = {random(1, {1, 4, 3, 5}), random(2, {3, 4, 3, 5})};
  const at::Tensor weight = random(3, {4}), bias = random(4, {4});
  const at::Tensor all = at::cat(shares).requires_grad_();
  const auto [expected, mean, invstd] =
      at::native_batch_norm(all, weight, bias, {}, {}, /*training=*/true, 0.1, 1e-5);
  const at::Tensor upstream = random(5, expected.sizes());
  expected.backward(upstream);
  testing::run_world(2, [&](Communicator& c) {
    const int64_t begin = c.rank() == 0 ? 0 : 1, size = c.rank() == 0 ? 1 : 3;
    at::Tensor x = shares[size_t(c.rank())].clone().requires_grad_();
    const at::Tensor y = synchronised_batch_norm(x, weight, bias, 1e-5, c)[0];
    EXPECT_TRUE(y.allclose(expected.narrow(0, begin, size), 1e-10, 1e-12));
    y.backward(upstream.narrow(0, begin, size));
    EXPECT_TRUE(x.grad().allclose(all.grad().narrow(0, begin, size), 1e-10, 1e-12));
  });
}

}  // namespace
}  // namespace ffkit
