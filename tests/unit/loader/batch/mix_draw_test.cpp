#include "batch/mix_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "expect_error.h"
#include "image/random_numbers/random_streams.h"

namespace ffkit {
namespace {

TEST(MixOptions, ValidateNamesTheFirstBadValue) {
  EXPECT_NO_THROW(validate(MixOptions{}));
  EXPECT_FALSE(MixOptions{}.is_on());
  EXPECT_TRUE(MixOptions{.cutmix_alpha = 1}.is_on());
  EXPECT_ERROR(validate(MixOptions{.mixup_alpha = -0.2}), invalid_argument);
  EXPECT_ERROR(validate(MixOptions{.cutmix_alpha = std::nan("")}), invalid_argument);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / double(values.size());
}

TEST(DrawBeta, HasTheMomentsOfBeta) {
  for (const double alpha : {0.1, 0.2, 0.5, 1.0, 2.0, 30.0}) {
    std::vector<double> draws;
    std::vector<double> squares;
    for (int64_t i = 0; i < 20000; ++i) {
      CounterRandom random({7, 0, i}, kMixingStream);
      draws.push_back(draw_beta(alpha, random));
      ASSERT_TRUE(draws.back() >= 0 && draws.back() <= 1);
      squares.push_back(std::pow(draws.back() - 0.5, 2));
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(mean_of(draws), 0.5, 5 * std::sqrt(variance / 20000)) << alpha;
    // The fourth central moment of any distribution on [0, 1] is at most a quarter of its variance.
    EXPECT_NEAR(mean_of(squares), variance, 5 * std::sqrt(variance / 4 / 20000)) << alpha;
  }
}

TEST(DrawBeta, AlphaOfOneIsUniform) {
  int counts[10] = {};
  for (int64_t i = 0; i < 20000; ++i) {
    CounterRandom random({8, 0, i}, kMixingStream);
    ++counts[std::min(9, int(draw_beta(1, random) * 10))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 2000, 212);
}

// By the largest difference of the distribution functions (Kolmogorov and Smirnov). A gamma variate
// that is never refused gives 5.
TEST(DrawBeta, FollowsTheDistributionOfBeta) {
  constexpr int64_t kDraws = 200000;
  std::vector<double> draws;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({7, 1, i}, kMixingStream);
    draws.push_back(draw_beta(2, random));
  }
  std::ranges::sort(draws);
  double largest = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    const double x = draws[i];
    const double expected = x * x * (3 - 2 * x);
    largest = std::max(largest, std::abs(expected - (double(i) + 0.5) / kDraws));
  }
  EXPECT_LT(largest * std::sqrt(kDraws), 2);
}

TEST(DrawBeta, TinyAlphasGiveTheEnds) {
  for (int64_t i = 0; i < 200; ++i) {
    CounterRandom random({8, 0, i}, kMixingStream);
    const double beta = draw_beta(1e-6, random);
    EXPECT_TRUE(beta < 1e-9 || beta > 1 - 1e-9) << beta;
  }
}

// Below about 1e-307 both Gamma numbers underflow even as logarithms.
TEST(DrawBeta, TheSmallestAlphasGiveBothEndsEquallyOften) {
  for (const double alpha : {1e-300, 1e-308, 1e-320, std::numeric_limits<double>::denorm_min()}) {
    int num_ones = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      CounterRandom random({8, 0, i}, kMixingStream);
      const double beta = draw_beta(alpha, random);
      ASSERT_TRUE(beta == 0 || beta == 1) << alpha << ": " << beta;
      num_ones += beta == 1 ? 1 : 0;
    }
    EXPECT_NEAR(num_ones, 500, 80) << alpha;
  }
}

TEST(DrawMix, BatchesTakeOneOfBothWithEqualProbability) {
  int num_cutmix = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    CounterRandom random({9, 0, i}, kMixingStream);
    const MixDraw draw = draw_mix({.mixup_alpha = 0.2, .cutmix_alpha = 1}, random, {20, 30});
    num_cutmix += draw.is_cutmix ? 1 : 0;
    CounterRandom one({9, 0, i}, kMixingStream);
    ASSERT_FALSE(draw_mix({.mixup_alpha = 0.2}, one, 20).is_cutmix);
    ASSERT_TRUE(draw_mix({.cutmix_alpha = 1}, one, 20).is_cutmix);
  }
  EXPECT_NEAR(num_cutmix, 5000, 250);
}

TEST(DrawMix, LambdaIsTheShareOutsideOfTheBox) {
  double sum = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    CounterRandom random({9, 0, i}, kMixingStream);
    const MixDraw draw = draw_mix({.cutmix_alpha = 1}, random, {20, 30});
    const Rect& box = draw.box;
    ASSERT_TRUE(box.x >= 0 && box.width >= 0 && box.x + box.width <= 30);
    ASSERT_TRUE(box.y >= 0 && box.height >= 0 && box.y + box.height <= 20);
    ASSERT_DOUBLE_EQ(draw.lambda, 1 - box.width * box.height / 600.0);
    sum += draw.lambda;
  }
  // 1/2, and more since boxes are cut off at the border: 20,000 draws of torchvision 0.29 for this
  // size gave 0.7098.
  EXPECT_NEAR(sum / 5000, 0.7098, 0.02);
}

}  // namespace
}  // namespace ffkit
