#include "trainer/ops/deformable_attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

struct Case {
  at::Tensor value, locations, weights;
  std::vector<MapSize> levels;
};

// Locations reach over all borders.
Case make_case(int64_t dims, at::ScalarType type, std::vector<MapSize> levels = {{5, 7}, {3, 2}}) {
  constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 11, kPoints = 4;
  int64_t pixels = 0;
  for (const MapSize& level : levels) pixels += level.height * level.width;
  const auto num_levels = static_cast<int64_t>(levels.size());
  Case c;
  c.value = at::randn({kBatch, pixels, kHeads, dims}, type);
  c.locations = at::rand({kBatch, kQueries, kHeads, num_levels, kPoints, 2}, type) * 1.6 - 0.3;
  c.weights = at::softmax(at::randn({kBatch, kQueries, kHeads, num_levels * kPoints}, type), -1)
                  .view({kBatch, kQueries, kHeads, num_levels, kPoints});
  c.levels = std::move(levels);
  return c;
}

std::vector<at::Tensor> gradients(const Case& c, bool by_grid_sample, const at::Tensor& direction) {
  std::vector<at::Tensor> inputs;
  for (const at::Tensor& t : {c.value, c.locations, c.weights}) {
    inputs.push_back(t.detach().clone().requires_grad_(true));
  }
  const auto attend = by_grid_sample ? deformable_attention_by_grid_sample : deformable_attention;
  const at::Tensor out = attend(inputs[0], c.levels, inputs[1], inputs[2]);
  std::vector<at::Tensor> all = torch::autograd::grad({(out * direction).sum()}, inputs);
  all.push_back(out.detach());
  return all;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

class DeformableAttention : public ::testing::TestWithParam<int64_t> {};

// 1 to 40 channels: whole vectors of every processor, and what is left over.
INSTANTIATE_TEST_SUITE_P(Dims, DeformableAttention, ::testing::Values(1, 3, 8, 16, 21, 32, 40));

TEST_P(DeformableAttention, EqualsGridSampleInValuesAndGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Case c = make_case(GetParam(), type);
    const at::Tensor direction = at::randn({2, 11, 3 * GetParam()}, type);
    const std::vector<at::Tensor> own = gradients(c, false, direction);
    const std::vector<at::Tensor> wanted = gradients(c, true, direction);
    const double tolerance = type == at::kDouble ? 1e-13 : 2e-5;
    for (size_t i = 0; i < own.size(); ++i) {
      EXPECT_LT(largest_difference(own[i], wanted[i]), tolerance) << i;
    }
  }
}

TEST(DeformableAttentionOp, GradientsAreDifferenceQuotients) {
  const Case c = make_case(5, at::kDouble);
  const at::Tensor direction = at::randn({2, 11, 15}, at::kDouble);
  const std::vector<at::Tensor> own = gradients(c, false, direction);
  const std::vector<at::Tensor> inputs = {c.value, c.locations, c.weights};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor step = at::randn_like(inputs[i]) * 1e-7;
    const auto out = [&](double sign) {
      std::vector<at::Tensor> moved = inputs;
      moved[i] = moved[i] + sign * step;
      return (deformable_attention(moved[0], c.levels, moved[1], moved[2]) * direction)
          .sum()
          .item<double>();
    };
    const double wanted = (out(1) - out(-1)) / 2;
    EXPECT_NEAR((own[i] * step).sum().item<double>(), wanted, 1e-6 * std::abs(wanted) + 1e-12) << i;
  }
}

TEST(DeformableAttentionOp, ThreadsChangeNothing) {
  const Case c = make_case(8, at::kFloat, {{20, 20}});
  const at::Tensor direction = at::randn({2, 11, 24}, at::kFloat);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = gradients(c, false, direction);
  at::set_num_threads(4);
  const std::vector<at::Tensor> four = gradients(c, false, direction);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], four[i])) << i;
}

TEST(DeformableAttentionOp, LocationsThatAreNotFiniteSampleNothing) {
  Case c = make_case(8, at::kFloat);
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1e30, 1e30}) {
    c.locations.fill_(odd);
    const std::vector<at::Tensor> own = gradients(c, false, at::randn({2, 11, 24}));
    for (const at::Tensor& t : own) EXPECT_EQ(t.abs().max().item<double>(), 0) << odd;
  }
}

TEST(DeformableAttentionOp, HalfPrecisionIsSummedInFloat) {
  const Case c = make_case(16, at::kFloat);
  const at::Tensor half =
      deformable_attention(c.value.to(at::kBFloat16), c.levels, c.locations, c.weights);
  EXPECT_EQ(half.scalar_type(), at::kBFloat16);
  const at::Tensor wanted = deformable_attention(c.value.to(at::kBFloat16).to(at::kFloat), c.levels,
                                                 c.locations, c.weights);
  EXPECT_TRUE(at::equal(half, wanted.to(at::kBFloat16)));
}

TEST(DeformableAttentionOp, ShapesThatDoNotFitAreRefused) {
  const Case c = make_case(8, at::kFloat);
  EXPECT_THROW(deformable_attention(c.value, {{5, 7}}, c.locations, c.weights), Error);
  EXPECT_THROW(deformable_attention(c.value, {{5, 7}, {3, 3}}, c.locations, c.weights), Error);
  EXPECT_THROW(deformable_attention(c.value.flatten(2), c.levels, c.locations, c.weights), Error);
  EXPECT_THROW(deformable_attention(c.value.narrow(0, 0, 1), c.levels, c.locations, c.weights),
               Error);
  EXPECT_THROW(deformable_attention(c.value, c.levels, c.locations.narrow(1, 0, 3), c.weights),
               Error);
}

}  // namespace
}  // namespace ffkit
