#include "batch/batch_mixer.h"

#include "elements.h"
#include "format/schema/element.h"
#include "highway_targets.h"
#include "image/random_numbers/random_streams.h"
#include "reference_python.h"
#include "test_prelude.h"

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

using testing::elements;

struct MixCase {
  DType dtype;
  Layout layout;
  MixDraw draw;
  int64_t num_samples;
};

std::vector<MixCase> mix_cases() {
  std::vector<MixCase> list;
  for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const int64_t n : {1, 2, 5}) {
        list.push_back({dtype, layout, {.lambda = 0.3}, n});
        list.push_back({dtype, layout, {.lambda = 0.5, .is_cutmix = true, .box = {2, 1, 5, 3}}, n});
      }
    }
  }
  list.push_back({DType::f32, Layout::nchw, {.lambda = 1}, 3});
  list.push_back({DType::f32, Layout::nchw, {.lambda = 0}, 3});
  list.push_back({DType::f32, Layout::nhwc, {.lambda = 1, .is_cutmix = true, .box = {}}, 3});
  return list;
}

constexpr int64_t kMixHeight = 5;
constexpr int64_t kMixWidth = 9;

std::vector<uint8_t> make_batch(const MixCase& c) {
  std::vector<uint8_t> bytes;
  uint32_t state = 5;
  for (int64_t i = 0; i < c.num_samples * 3 * kMixHeight * kMixWidth; ++i) {
    state = state * 1664525U + 1013904223U;
    if (c.dtype == DType::u8) {
      bytes.push_back(uint8_t(state >> 24));
      continue;
    }
    const float value = float(state >> 8) * 0x1p-22F - 2;
    const uint16_t half = c.dtype == DType::f16 ? to_f16(value) : to_bf16(value);
    const auto* from = c.dtype == DType::f32 ? reinterpret_cast<const uint8_t*>(&value)
                                             : reinterpret_cast<const uint8_t*>(&half);
    bytes.insert(bytes.end(), from, from + size_of(c.dtype));
  }
  return bytes;
}

std::vector<uint8_t> mixed(const MixCase& c) {
  std::vector<uint8_t> batch = make_batch(c);
  std::vector<uint8_t> scratch(batch.size() / size_t(c.num_samples));
  mix_images(c.draw, batch.data(), c.num_samples, {kMixHeight, kMixWidth},
             {.dtype = c.dtype, .layout = c.layout, .normalize = false}, scratch.data());
  return batch;
}

class MixImagesOnEveryTarget : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(MixImagesOnEveryTarget);

TEST_P(MixImagesOnEveryTarget, EverySampleIsMixedWithTheOneBefore) {
  for (const MixCase& c : mix_cases()) {
    const auto before = elements(make_batch(c), c.dtype);
    const auto after = elements(mixed(c), c.dtype);
    const size_t sample = 3 * kMixHeight * kMixWidth;
    const int bits = c.dtype == DType::f16 ? 11 : c.dtype == DType::bf16 ? 8 : 24;
    for (size_t i = 0; i < before.size(); ++i) {
      const size_t in_sample = i % sample;
      const float other = before[i >= sample ? i - sample : before.size() - sample + i];
      float expected = other * float(1 - c.draw.lambda) + before[i] * float(c.draw.lambda);
      if (c.dtype == DType::u8) {
        expected = std::nearbyint(expected);
      } else if (expected != 0) {
        expected = testing::round_to_bits(expected, bits);
      }
      if (c.draw.is_cutmix) {
        const size_t pixel =
            c.layout == Layout::nchw ? in_sample % (kMixHeight * kMixWidth) : in_sample / 3;
        const int x = int(pixel % kMixWidth);
        const int y = int(pixel / kMixWidth);
        const Rect& box = c.draw.box;
        const bool inside =
            x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
        expected = inside ? other : before[i];
      }
      ASSERT_EQ(after[i], expected) << to_string(c.dtype) << " " << i << " of " << c.num_samples;
    }
  }
}

// Larger than what is mixed at once.
TEST(MixImages, MixesLargeImages) {
  const ImageSize size(70, 61);
  const size_t sample_bytes = 3 * 70 * 61 * 4;
  std::vector<float> values(2 * sample_bytes / 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 1000);
  std::vector<uint8_t> scratch(sample_bytes);
  std::vector<float> expected = values;
  const size_t half = values.size() / 2;
  for (size_t i = 0; i < values.size(); ++i) {
    expected[i] = values[(i + half) % values.size()] * 0.75F + values[i] * 0.25F;
  }
  mix_images({.lambda = 0.25}, values.data(), 2, size, {}, scratch.data());
  ASSERT_EQ(values, expected);
}

TEST(MixImagesReference, EqualsTorchvisions) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  std::string script =
      "import numpy as np, torch\n"
      "from torchvision.transforms import v2\n"
      "def run(n, dtype, nchw, cutmix, lam, box):\n"
      "  x = torch.from_file(f'in{n}', dtype=dtype, size=__import__('os').path.getsize(f'in{n}')"
      " // dtype.itemsize)\n"
      "  x = x.view(-1, 3, 5, 9) if nchw else x.view(-1, 5, 9, 3).permute(0, 3, 1, 2)\n"
      "  labels = torch.zeros(len(x), dtype=torch.int64)\n"
      "  t = (v2.CutMix if cutmix else v2.MixUp)(num_classes=2)\n"
      "  p = dict(labels=labels, batch_size=len(x), lam=lam, lam_adjusted=lam, box=box)\n"
      "  y = t.transform(x, p)\n"
      "  y = y if nchw else y.permute(0, 2, 3, 1)\n"
      "  y.contiguous().view(torch.uint8).numpy().tofile(f'out{n}')\n";
  const auto all = mix_cases();
  for (size_t n = 0; n < all.size(); ++n) {
    const MixCase& c = all[n];
    // torchvision cannot mix integers.
    if (c.dtype == DType::u8 && !c.draw.is_cutmix) continue;
    testing::write_values(dir / fmt::format("in{}", n), make_batch(c));
    const Rect& box = c.draw.box;
    const char* dtype = c.dtype == DType::u8     ? "uint8"
                        : c.dtype == DType::f16  ? "float16"
                        : c.dtype == DType::bf16 ? "bfloat16"
                                                 : "float32";
    script += fmt::format("run({}, torch.{}, {}, {}, {}, ({}, {}, {}, {}))\n", n, dtype,
                          c.layout == Layout::nchw ? "True" : "False",
                          c.draw.is_cutmix ? "True" : "False", c.draw.lambda, box.x, box.y,
                          box.x + box.width, box.y + box.height);
  }
  ASSERT_TRUE(testing::run_python(script, dir.path()));
  for (size_t n = 0; n < all.size(); ++n) {
    const MixCase& c = all[n];
    if (c.dtype == DType::u8 && !c.draw.is_cutmix) continue;
    const auto expected =
        elements(testing::read_values<uint8_t>(dir / fmt::format("out{}", n)), c.dtype);
    const auto got = elements(mixed(c), c.dtype);
    ASSERT_EQ(got.size(), expected.size());
    // torch rounds both products of small floats, we their sum alone. Values are below 2.
    const double tolerance = c.draw.is_cutmix        ? 0
                             : c.dtype == DType::f32 ? 1e-6
                             : c.dtype == DType::f16 ? 2 * 0x1p-10
                                                     : 2 * 0x1p-7;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], tolerance) << to_string(c.dtype) << " " << i;
    }
  }
}

}  // namespace
}  // namespace ffkit
