// Every optimiser against torch.optim, or for LARS against its formula in plain numbers.
#include "optim/optimizer.h"

#include <ATen/ops/randn_like.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "optim/gradients.h"
#include "support/fake_model.h"
#include "trainer_prelude.h"

namespace ffkit {
namespace {

// A convolution in both memory formats, a matrix, a vector and a parameter without a gradient.
std::vector<NamedTensor> sample_parameters() {
  at::manual_seed(3);
  std::vector<NamedTensor> out = {{"conv", at::randn({6, 4, 3, 3})},
                                  {"last", at::randn({5, 4, 3, 3})},
                                  {"fc", at::randn({7, 6})},
                                  {"bias", at::randn({7})},
                                  {"unused", at::randn({2, 2})}};
  out[1].tensor = out[1].tensor.contiguous(at::MemoryFormat::ChannelsLast);
  for (NamedTensor& p : out) p.tensor.requires_grad_(true);
  return out;
}

std::vector<at::Tensor> copies(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> out;
  for (const NamedTensor& p : parameters) {
    out.push_back(p.tensor.detach().clone().requires_grad_(true));
  }
  return out;
}

void set_random_gradients(const std::vector<NamedTensor>& parameters,
                          std::vector<at::Tensor>& others) {
  for (size_t i = 0; i + 1 < parameters.size(); ++i) {
    const at::Tensor g = at::randn_like(parameters[i].tensor.detach());
    parameters[i].tensor.mutable_grad() = g;
    others[i].mutable_grad() = g.clone();
  }
}

// Four steps of `ours` and of libtorch's optimiser over copies of the parameters, with rates that
// change.
template <typename MakeReference>
void expect_same_as(Optimizer& ours, const std::vector<NamedTensor>& parameters,
                    std::vector<at::Tensor>& others, MakeReference make_reference) {
  auto reference = make_reference(others);
  for (const double lr : {0.1, 0.02, 0.05, 0.01}) {
    set_random_gradients(parameters, others);
    for (auto& group : reference.param_groups()) group.options().set_lr(lr);
    ours.step(lr);
    reference.step();
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(parameters[i].tensor.allclose(others[i], 1e-5, 1e-6)) << parameters[i].name;
    }
  }
}

TEST(Optimizer, SgdEqualsTorch) {
  for (const bool nesterov : {false, true}) {
    const std::vector<NamedTensor> parameters = sample_parameters();
    std::vector<at::Tensor> others = copies(parameters);
    Sgd ours(parameter_groups(parameters, 0.01, true), {.momentum = 0.9, .nesterov = nesterov});
    expect_same_as(ours, parameters, others, [&](const std::vector<at::Tensor>& p) {
      return torch::optim::SGD(
          p, torch::optim::SGDOptions(1).momentum(0.9).nesterov(nesterov).weight_decay(0.01));
    });
  }
}

TEST(Optimizer, AdamWEqualsTorch) {
  const std::vector<NamedTensor> parameters = sample_parameters();
  std::vector<at::Tensor> others = copies(parameters);
  AdamW ours(parameter_groups(parameters, 0.1, true), {.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3});
  expect_same_as(ours, parameters, others, [](const std::vector<at::Tensor>& p) {
    return torch::optim::AdamW(
        p, torch::optim::AdamWOptions(1).betas({0.8, 0.95}).eps(1e-3).weight_decay(0.1));
  });
}

TEST(Optimizer, LeavesNormsAndBiasesOutOfTheDecayWhenAsked) {
  const std::vector<NamedTensor> parameters = sample_parameters();
  std::vector<at::Tensor> others = copies(parameters);
  AdamW ours(parameter_groups(parameters, 0.1, /*norm_decay=*/false), {});
  expect_same_as(ours, parameters, others, [](const std::vector<at::Tensor>& p) {
    using torch::optim::AdamWOptions;
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<at::Tensor>{p[0], p[1], p[2], p[4]},
                        std::make_unique<AdamWOptions>(AdamWOptions(1).weight_decay(0.1)));
    groups.emplace_back(std::vector<at::Tensor>{p[3]},
                        std::make_unique<AdamWOptions>(AdamWOptions(1).weight_decay(0)));
    return torch::optim::AdamW(groups, AdamWOptions(1));
  });
}

TEST(Optimizer, LarsFollowsItsFormula) {
  at::Tensor w = at::tensor({3.0F, 4.0F}).view({2, 1}).requires_grad_(true);
  at::Tensor b = at::tensor({1.0F}).requires_grad_(true);
  const std::vector<NamedTensor> parameters = {{"w", w}, {"b", b}};
  Lars lars(parameter_groups(parameters, 0.1, /*norm_decay=*/false),
            {.momentum = 0.5, .trust = 0.02});
  double w0 = 3, w1 = 4, v0 = 0, v1 = 0, bias = 1, vb = 0;
  for (const double lr : {1.0, 2.0, 0.5}) {
    const double g0 = 0.6 * lr, g1 = -0.8;
    w.mutable_grad() = at::tensor({float(g0), float(g1)}).view({2, 1});
    b.mutable_grad() = at::tensor({0.25F});
    lars.step(lr);
    const double norm = std::hypot(w0, w1);
    const double ratio = 0.02 * norm / (std::hypot(g0, g1) + 0.1 * norm);
    v0 = 0.5 * v0 + lr * ratio * (g0 + 0.1 * w0);
    v1 = 0.5 * v1 + lr * ratio * (g1 + 0.1 * w1);
    vb = 0.5 * vb + lr * 0.25;
    w0 -= v0;
    w1 -= v1;
    bias -= vb;
    EXPECT_NEAR(w[0][0].item<double>(), w0, 1e-6);
    EXPECT_NEAR(w[1][0].item<double>(), w1, 1e-6);
    EXPECT_NEAR(b[0].item<double>(), bias, 1e-6);
  }
}

TEST(Optimizer, LarsMovesAParameterOfNormZero) {
  at::Tensor w = at::tensor({0.0F, 0.0F}).view({2, 1}).requires_grad_(true);
  w.mutable_grad() = at::tensor({1.0F, 2.0F}).view({2, 1});
  Lars lars(parameter_groups({{"w", w}}, 0.1, false), {});
  lars.step(0.5);
  EXPECT_NEAR(w[1][0].item<double>(), -1.0, 1e-6);
}

TEST(Optimizer, ResetsGradientsWithoutTouchingTheirMemory) {
  at::Tensor w = at::randn({4}).requires_grad_(true);
  const at::Tensor bucket = at::randn({8});
  const at::Tensor before = bucket.clone();
  w.mutable_grad() = bucket.narrow(0, 2, 4);  // as c10d::Reducer with gradients as bucket views
  Sgd sgd(parameter_groups({{"w", w}}, 0, true), {});
  sgd.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(bucket.equal(before));
}

// A copy of all that state() lists continues like the original.
template <typename Kind, typename Options>
void expect_state_is_complete(const Options& options, size_t num_tensors) {
  const std::vector<NamedTensor> first = sample_parameters();
  const std::vector<NamedTensor> second = sample_parameters();
  std::vector<at::Tensor> seconds;
  for (const NamedTensor& p : second) seconds.push_back(p.tensor);
  Kind a(parameter_groups(first, 0.1, false), options);
  Kind b(parameter_groups(second, 0.1, false), options);
  std::vector<at::Tensor> ignored = copies(first);
  for (int i = 0; i < 3; ++i) {
    set_random_gradients(first, ignored);
    a.step(0.1);
  }
  {
    at::NoGradGuard no_grad;
    ASSERT_EQ(a.state().size(), num_tensors);
    for (size_t i = 0; i < num_tensors; ++i) {
      EXPECT_EQ(a.state()[i].name, b.state()[i].name);
      b.state()[i].tensor.copy_(a.state()[i].tensor);
    }
    for (size_t i = 0; i < first.size(); ++i) seconds[i].copy_(first[i].tensor);
  }
  set_random_gradients(first, seconds);
  a.step(0.1);
  b.step(0.1);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].tensor.equal(seconds[i])) << first[i].name;
  }
}

TEST(Optimizer, ContinuesFromItsState) {
  expect_state_is_complete<Sgd>(SgdOptions{}, 5);
  expect_state_is_complete<AdamW>(AdamWOptions{}, 11);
  expect_state_is_complete<Lars>(LarsOptions{}, 5);
}

TEST(Optimizer, NamesItsState) {
  const AdamW adamw(parameter_groups(sample_parameters(), 0.1, true), {});
  EXPECT_EQ(adamw.state().front().name, "exp_avg.conv");
  EXPECT_EQ(adamw.state()[5].name, "exp_avg_sq.conv");
  EXPECT_EQ(adamw.state().back().name, "step");
}

TEST(ParameterGroups, HaveTheScalesThatATaskGives) {
  const std::vector<ParameterGroup> groups = parameter_groups(
      {{"body.weight", at::ones({2, 2})},
       {"body.bias", at::ones({2})},
       {"head.weight", at::ones({2, 2})},
       {"head.bias", at::ones({2})}},
      0.1, /*norm_decay=*/false, [](const NamedTensor& p) {
        return p.name.starts_with("head") ? ParameterSetting{.lr_scale = 10, .decay_scale = 0.5}
                                          : ParameterSetting{};
      });
  ASSERT_EQ(groups.size(), 4U);
  const std::vector<std::string> names = {"body.weight", "body.bias", "head.weight", "head.bias"};
  const std::vector<double> decays = {0.1, 0, 0.05, 0};
  const std::vector<double> scales = {1, 1, 10, 10};
  for (size_t i = 0; i < groups.size(); ++i) {
    ASSERT_EQ(groups[i].parameters.size(), 1U);
    EXPECT_EQ(groups[i].parameters[0].name, names[i]);
    EXPECT_EQ(groups[i].weight_decay, decays[i]);
    EXPECT_EQ(groups[i].lr_scale, scales[i]);
  }
}

// Everything at half the rate with twice the scale is everything at the rate.
template <typename Kind, typename Options>
void expect_scaled_rate(const Options& options) {
  const std::vector<NamedTensor> first = sample_parameters();
  const std::vector<NamedTensor> second = sample_parameters();
  const auto twice = [](const NamedTensor&) { return ParameterSetting{.lr_scale = 2}; };
  Kind plain(parameter_groups(first, 0.1, true), options);
  Kind scaled(parameter_groups(second, 0.1, true, twice), options);
  for (int i = 0; i < 2; ++i) {
    std::vector<at::Tensor> seconds;
    for (const NamedTensor& p : second) seconds.push_back(p.tensor);
    set_random_gradients(first, seconds);
    plain.step(0.1);
    scaled.step(0.05);
  }
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].tensor.equal(second[i].tensor)) << first[i].name;
  }
}

TEST(Optimizer, HeedsTheScaleOfAGroup) {
  expect_scaled_rate<Sgd>(SgdOptions{});
  expect_scaled_rate<AdamW>(AdamWOptions{});
  expect_scaled_rate<Lars>(LarsOptions{});
}

// Frozen parameters have neither state nor decay.
TEST(MakeOptimizer, LeavesOutWhatIsFrozen) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lars}) {
    std::vector<NamedTensor> parameters = {{"trained", at::ones({2, 2}).requires_grad_(true)},
                                           {"frozen", at::ones({2, 2})}};
    const testing::FakeModel model(parameters, {});
    TrainOptions options;
    options.optimizer = kind;
    options.weight_decay = 0.5;
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(options, model);
    for (const NamedTensor& state : optimizer->state()) {
      EXPECT_EQ(state.name.find("frozen"), std::string::npos) << state.name;
    }
    for (const NamedTensor& p : parameters) p.tensor.mutable_grad() = at::ones({2, 2});
    optimizer->step(0.1);
    EXPECT_FALSE(parameters[0].tensor.equal(at::ones({2, 2})));
    EXPECT_TRUE(parameters[1].tensor.equal(at::ones({2, 2})));
  }
}

NamedTensor parameter_with(const at::Tensor& gradient) {
  NamedTensor p{"p", at::zeros(gradient.sizes()).requires_grad_(true)};
  p.tensor.mutable_grad() = gradient;
  return p;
}

// Returns the norm before.
at::Tensor clip_gradient_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  const at::Tensor norm = gradient_norm(parameters);
  scale_gradients(parameters, norm, max_norm);
  return norm;
}

TEST(ClipGradientNorm, EqualsTorch) {
  at::manual_seed(5);
  for (const double max_norm : {0.5, 3.0, 1000.0}) {
    std::vector<NamedTensor> ours;
    std::vector<at::Tensor> theirs;
    for (const at::Tensor& g : {at::randn({3, 4}), at::randn({7}), at::randn({2, 3, 2, 2})}) {
      ours.push_back(parameter_with(g.clone()));
      theirs.push_back(parameter_with(g.clone()).tensor);
    }
    const double norm = clip_gradient_norm(ours, max_norm).item<double>();
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(theirs, max_norm), 1e-5);
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(ours[i].tensor.grad().allclose(theirs[i].grad(), 1e-6, 1e-7));
    }
  }
}

TEST(ClipGradientNorm, KeepsSmallGradientsToTheBit) {
  const at::Tensor g = at::ones({4});
  const std::vector<NamedTensor> parameters = {parameter_with(g.clone())};
  EXPECT_EQ(clip_gradient_norm(parameters, 10).item<double>(), 2);
  EXPECT_TRUE(parameters[0].tensor.grad().equal(g));
}

TEST(ClipGradientNorm, ScalesGradientsThatAreViewsInPlace) {
  const at::Tensor bucket = at::ones({8});
  const std::vector<NamedTensor> parameters = {parameter_with(bucket.narrow(0, 0, 4)),
                                               {"unused", at::zeros({2})}};
  clip_gradient_norm(parameters, 1);
  EXPECT_NEAR(bucket[0].item<double>(), 0.5, 1e-6);
  EXPECT_EQ(bucket[4].item<double>(), 1);
}

TEST(ClipGradientNorm, IsZeroWithoutGradients) {
  EXPECT_EQ(clip_gradient_norm({{"p", at::zeros({2})}}, 1).item<double>(), 0);
}

std::vector<ParameterGroup> group(std::vector<NamedTensor> parameters, double weight_decay = 0) {
  return {{.parameters = std::move(parameters), .weight_decay = weight_decay}};
}

at::Tensor weight(std::vector<float> values) {
  return at::tensor(at::ArrayRef<float>(values)).requires_grad_(true);
}

void set_gradient(at::Tensor& w, std::vector<float> values) {
  w.mutable_grad() = at::tensor(at::ArrayRef<float>(values));
}

TEST(Sgd, FollowsItsFormulaOverTwoSteps) {
  at::Tensor w = weight({1, -2});
  Sgd sgd(group({{"w", w}}, 0.1), {.momentum = 0.9});
  set_gradient(w, {0.5, 1});
  sgd.step(0.1);  // g = {0.6, 0.8}, v = g
  EXPECT_NEAR(w[0].item<double>(), 1 - 0.06, 1e-6);
  EXPECT_NEAR(w[1].item<double>(), -2 - 0.08, 1e-6);
  set_gradient(w, {0, 0});
  sgd.step(0.2);  // g = {0.094, -0.208}, v = 0.9 * {0.6, 0.8} + g
  EXPECT_NEAR(w[0].item<double>(), 0.94 - 0.2 * 0.634, 1e-6);
  EXPECT_NEAR(w[1].item<double>(), -2.08 - 0.2 * 0.512, 1e-6);
  EXPECT_NEAR(sgd.state()[0].tensor[0].item<double>(), 0.634, 1e-6);
}

TEST(Sgd, LooksAheadWithNesterov) {
  at::Tensor w = weight({1});
  Sgd sgd(group({{"w", w}}), {.momentum = 0.5, .nesterov = true});
  set_gradient(w, {1});
  sgd.step(0.1);  // v = 1, update = 1 + 0.5
  EXPECT_NEAR(w[0].item<double>(), 0.85, 1e-6);
}

TEST(Sgd, KeepsNoVelocityWithoutMomentum) {
  at::Tensor w = weight({1});
  Sgd sgd(group({{"w", w}}), {.momentum = 0});
  set_gradient(w, {2});
  sgd.step(0.1);
  sgd.step(0.1);
  EXPECT_NEAR(w[0].item<double>(), 0.6, 1e-6);
  EXPECT_TRUE(sgd.state().empty());
}

TEST(Sgd, LeavesParametersWithoutGradientAlone) {
  at::Tensor a = weight({1});
  at::Tensor b = weight({1});
  Sgd sgd(group({{"a", a}, {"b", b}}, 0.5), {.momentum = 0.9});
  set_gradient(b, {1});
  sgd.step(0.1);
  EXPECT_EQ(a[0].item<double>(), 1);
  EXPECT_NEAR(b[0].item<double>(), 0.85, 1e-6);
  sgd.zero_grad();
  EXPECT_FALSE(b.grad().defined());
}

TEST(Sgd, TreatsBothMemoryFormatsAlike) {
  const at::Tensor start = at::arange(48, at::kFloat).view({2, 3, 4, 2});
  std::vector<at::Tensor> results;
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    at::Tensor w = start.clone(format).requires_grad_(true);
    w.mutable_grad() = start.mul(0.25).contiguous(format);
    Sgd sgd(group({{"w", w}}, 0.125), {.momentum = 0.5, .nesterov = true});
    sgd.step(0.5);
    sgd.step(0.5);
    EXPECT_TRUE(w.is_contiguous(format));
    results.push_back(w.detach());
  }
  EXPECT_TRUE(results[0].equal(results[1]));
  EXPECT_FALSE(results[0].equal(start));
}

TEST(Sgd, UpdatesElementByElementWhenGradientHasAnotherMemoryFormat) {
  at::Tensor w = at::zeros({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  w.requires_grad_(true);
  const at::Tensor g = at::arange(24, at::kFloat).view({2, 3, 2, 2});
  w.mutable_grad() = g;
  Sgd sgd(group({{"w", w}}), {.momentum = 0.9});
  sgd.step(1);
  EXPECT_TRUE(w.detach().equal(g.neg()));
}

}  // namespace
}  // namespace ffkit
