#include "ops/recompute.h"

#include <ATen/ops/matmul.h>

#include "trainer_prelude.h"

namespace ffkit {
namespace {

class Recompute : public ::testing::Test {
 protected:
  at::Tensor compute(const at::Tensor& x) {
    ++num_calls_;
    return at::matmul(x, weight_).tanh().square();
  }
  at::Tensor recomputed_of(const at::Tensor& x) {
    return recomputed([this](const at::Tensor& t) { return compute(t); }, x, {weight_});
  }

  at::Tensor weight_ = at::randn({5, 4}).set_requires_grad(true);
  int num_calls_ = 0;
};

TEST_F(Recompute, GivesTheSameValuesAndGradients) {
  for (const bool needs_input : {true, false}) {
    const at::Tensor x = at::randn({3, 5}).set_requires_grad(needs_input);
    const at::Tensor plain = compute(x);
    plain.sum().backward();
    const at::Tensor weight_gradient = weight_.grad().clone();
    const at::Tensor gradient = needs_input ? x.grad().clone() : at::Tensor();
    weight_.mutable_grad().zero_();
    if (needs_input) x.mutable_grad().zero_();
    num_calls_ = 0;
    const at::Tensor again = recomputed_of(x);
    EXPECT_EQ(num_calls_, 1);
    EXPECT_TRUE(at::equal(again, plain));
    again.sum().backward();
    EXPECT_EQ(num_calls_, 2);
    EXPECT_TRUE(at::equal(weight_.grad(), weight_gradient));
    if (needs_input) {
      EXPECT_TRUE(at::equal(x.grad(), gradient));
    }
    weight_.mutable_grad().zero_();
  }
}

TEST_F(Recompute, FrozenParametersGetNoGradient) {
  weight_.set_requires_grad(false);
  const at::Tensor x = at::randn({3, 5}).set_requires_grad(true);
  recomputed_of(x).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight_.grad().defined());
}

TEST_F(Recompute, WithoutGradientsItIsCalledOnce) {
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(recomputed_of(at::randn({3, 5})).requires_grad());
  EXPECT_EQ(num_calls_, 1);
}

}  // namespace
}  // namespace ffkit
