#include "elements.h"
#include "format/schema/element.h"
#include "random_numbers/random_streams.h"
#include "test_prelude.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

using testing::elements;

TEST(Elements, SmallFloatsAreRoundedToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float value = testing::from_half(uint16_t(bits));
    ASSERT_EQ(to_f16(value), bits);
    ASSERT_EQ(to_f16(-value), bits | 0x8000);
    if (bits + 1 == 0x7C00) continue;
    const float next = testing::from_half(uint16_t(bits + 1));
    const float half_way = value + (next - value) / 2;
    ASSERT_EQ(to_f16(half_way), bits + bits % 2);
    ASSERT_EQ(to_f16(std::nextafter(half_way, next)), bits + 1);
    ASSERT_EQ(to_f16(std::nextafter(half_way, value)), bits);
  }
  EXPECT_EQ(to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16(1.00390625F), 0x3F80);   // half way, to even
  EXPECT_EQ(to_bf16(1.01171875F), 0x3F82);   // half way, to even
  EXPECT_EQ(to_bf16(-1.00390637F), 0xBF81);  // just above it
  EXPECT_EQ(to_u8(2.5F), 2);
  EXPECT_EQ(to_u8(-3), 0);
  EXPECT_EQ(to_u8(300), 255);
}

TEST(DrawErasing, StaysWithinTheImageAndItsRanges) {
  const RandomErasing options;
  constexpr int kDraws = 20000;
  int num_erased = 0;
  double sum_area = 0;
  double sum_log_ratio = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({1, 0, i}, kErasingStream);
    const Rect rect = draw_erasing(options, {400, 600}, random);
    if (rect.width == 0) continue;
    ++num_erased;
    ASSERT_TRUE(rect.x >= 0 && rect.x + rect.width <= 600 && rect.width < 600);
    ASSERT_TRUE(rect.y >= 0 && rect.y + rect.height <= 400 && rect.height < 400);
    const double area = double(rect.width) * rect.height / (400 * 600);
    const double slack = 1 + 0.5 / rect.width + 0.5 / rect.height;
    ASSERT_GE(area * slack, 0.02);
    ASSERT_LE(area, 0.33 * slack);
    ASSERT_GE((rect.height + 0.5) / (rect.width - 0.5), 0.3);
    ASSERT_LE((rect.height - 0.5) / (rect.width + 0.5), 3.3);
    sum_area += area;
    sum_log_ratio += std::log(double(rect.height) / rect.width);
  }
  EXPECT_NEAR(num_erased, kDraws / 2, 360);
  // Large areas of extreme ratios do not fit and are drawn again: a little less than the uniform
  // mean of 0.175.
  EXPECT_NEAR(sum_area / num_erased, 0.17, 0.01);
  EXPECT_NEAR(sum_log_ratio / num_erased, 0, 0.1);
}

TEST(DrawErasing, GivesUpWhereNothingFits) {
  for (int64_t i = 0; i < 200; ++i) {
    CounterRandom random({1, 0, i}, kErasingStream);
    // All of an image of one pixel; torchvision takes less than the whole side only.
    EXPECT_EQ(draw_erasing({.probability = 1, .scale_min = 1}, 1, random).width, 0);
    EXPECT_EQ(draw_erasing({.probability = 0}, 100, random).width, 0);
  }
}

class EraseAll : public ::testing::TestWithParam<std::tuple<DType, Layout>> {};

INSTANTIATE_TEST_SUITE_P(TypesAndLayouts, EraseAll,
                         ::testing::Combine(::testing::Values(DType::u8, DType::f16, DType::bf16,
                                                              DType::f32),
                                            ::testing::Values(Layout::nchw, Layout::nhwc)));

TEST_P(EraseAll, OverwritesJustTheRectangle) {
  const auto [dtype, layout] = GetParam();
  const ImageOutput output{.dtype = dtype, .layout = layout, .normalize = false};
  const ImageSize size(31, 23);
  const RandomErasing options{.probability = 1, .value = 2};
  for (int64_t i = 0; i < 30; ++i) {
    CounterRandom random({1, 0, i});
    const Rect rect = draw_erasing(options, size, random);
    std::vector<uint8_t> image(3 * 31 * 23 * size_of(dtype) + 8, 0x11);
    const auto untouched = elements(image, dtype);
    CounterRandom again({1, 0, i});
    erase(options, output, size, size, again, image.data());
    const auto values = elements(image, dtype);
    int num_inside = 0;
    for (int y = 0; y < 31; ++y) {
      for (int x = 0; x < 23; ++x) {
        for (int c = 0; c < 3; ++c) {
          const bool inside =
              x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
          num_inside += inside ? 1 : 0;
          const int at = layout == Layout::nchw ? (c * 31 + y) * 23 + x : (y * 23 + x) * 3 + c;
          ASSERT_EQ(values[size_t(at)], inside ? 2 : untouched[0]) << x << "," << y;
        }
      }
    }
    ASSERT_EQ(num_inside, 3 * rect.width * rect.height);
    for (size_t k = 0; k < 8; ++k) ASSERT_EQ(image[image.size() - 1 - k], 0x11);
  }
}

class EraseByNoise : public EraseAll {};

INSTANTIATE_TEST_SUITE_P(TypesAndLayouts, EraseByNoise,
                         ::testing::Combine(::testing::Values(DType::f16, DType::bf16, DType::f32),
                                            ::testing::Values(Layout::nchw, Layout::nhwc)));

TEST_P(EraseByNoise, IsStandardNormal) {
  const auto [dtype, layout] = GetParam();
  const ImageOutput output{.dtype = dtype, .layout = layout};
  const ImageSize size(300, 300);
  const RandomErasing options{.probability = 1,
                              .scale_min = 0.3,
                              .scale_max = 0.3,
                              .ratio_min = 1,
                              .ratio_max = 1,
                              .noise = true};
  std::vector<uint8_t> image(3 * 300 * 300 * size_of(dtype), 0x7E);
  const float untouched = elements(image, dtype)[0];
  CounterRandom random({1, 0, 1});
  erase(options, output, size, size, random, image.data());
  std::vector<double> noise;
  for (const float value : elements(image, dtype)) {
    if (value != untouched) noise.push_back(value);
  }
  const double n = double(noise.size());
  EXPECT_NEAR(n, 3 * 164 * 164, 3 * 164 * 2);
  double moments[4] = {};
  for (const double v : noise) {
    for (int k = 0; k < 4; ++k) moments[k] += std::pow(v, k + 1) / n;
  }
  // Five standard errors; variances of v, v^2, v^3, v^4 are 1, 2, 15, 96.
  EXPECT_NEAR(moments[0], 0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(moments[1], 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(moments[2], 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(moments[3], 3, 5 * std::sqrt(96 / n));
}

}  // namespace
}  // namespace ffkit
