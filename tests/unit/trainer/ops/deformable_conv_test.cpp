#include "trainer/ops/deformable_conv.h"

#include <ATen/ops/conv2d.h>
#include <torch/csrc/autograd/autograd.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

at::Tensor parameter(DeformableConv& conv, const std::string& name) {
  return conv.named_parameters()[name];
}

TEST(DeformableConv, BeginsAsHalfAConvolution) {
  for (const int64_t stride : {1, 2}) {
    DeformableConv conv(6, 4, stride);
    conv.to(at::kDouble);
    const at::Tensor x = at::randn({2, 6, 7, 9}, at::kDouble);
    const at::Tensor wanted =
        at::conv2d(x, parameter(conv, "weight"), {}, stride, at::IntArrayRef{1, 1}) * 0.5;
    const at::Tensor y = conv.forward(x);
    ASSERT_EQ(y.sizes(), wanted.sizes());
    EXPECT_TRUE(at::allclose(y, wanted, 1e-9, 1e-9));
  }
}

double pixel(const at::Tensor& map, int64_t row, int64_t column) {
  if (row < 0 || column < 0 || row >= map.size(0) || column >= map.size(1)) return 0;
  return map[row][column].item<double>();
}

double bilinear(const at::Tensor& map, double y, double x) {
  const auto row = static_cast<int64_t>(std::floor(y));
  const auto column = static_cast<int64_t>(std::floor(x));
  const double low = y - double(row);
  const double right = x - double(column);
  return (1 - low) * (1 - right) * pixel(map, row, column) +
         (1 - low) * right * pixel(map, row, column + 1) +
         low * (1 - right) * pixel(map, row + 1, column) +
         low * right * pixel(map, row + 1, column + 1);
}

// By the definition, one number after the other. Offsets are y before x, tap after tap; then the
// weights.
TEST(DeformableConv, IsTheSumByHand) {
  DeformableConv conv(2, 3, 2);
  conv.to(at::kDouble);
  const at::Tensor bias = parameter(conv, "conv_offset.bias");
  {
    const at::NoGradGuard no_grad;
    bias.copy_(at::randn({27}, at::kDouble));
  }
  const at::Tensor x = at::randn({1, 2, 5, 6}, at::kDouble);
  const at::Tensor y = conv.forward(x);
  const at::Tensor weight = parameter(conv, "weight");
  for (int64_t row = 0; row < y.size(2); ++row) {
    for (int64_t column = 0; column < y.size(3); ++column) {
      double sum = 0;
      for (int64_t k = 0; k < 9; ++k) {
        const double at_y = double(row * 2 + k / 3 - 1) + bias[2 * k].item<double>();
        const double at_x = double(column * 2 + k % 3 - 1) + bias[2 * k + 1].item<double>();
        const double share = 1 / (1 + std::exp(-bias[18 + k].item<double>()));
        for (int64_t c = 0; c < 2; ++c) {
          sum += weight[1][c][k / 3][k % 3].item<double>() * share * bilinear(x[0][c], at_y, at_x);
        }
      }
      EXPECT_NEAR(y[0][1][row][column].item<double>(), sum, 1e-9) << row << ' ' << column;
    }
  }
}

TEST(DeformableConv, GradientsReachTheMapAndAllParameters) {
  DeformableConv conv(2, 3, 1);
  const at::Tensor x = at::randn({1, 2, 5, 6}).requires_grad_(true);
  conv.forward(x).square().sum().backward();
  EXPECT_GT(x.grad().abs().sum().item<double>(), 0);
  for (const auto& item : conv.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().sum().item<double>(), 0) << item.key();
  }
}

}  // namespace
}  // namespace ffkit
