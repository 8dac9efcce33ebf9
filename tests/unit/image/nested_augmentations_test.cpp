// Apply, OneOf and the operations without random numbers, as the Augmenter runs them.
#include "image_prelude.h"
#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

constexpr int kNestedWidth = 24;
constexpr int kNestedHeight = 20;

RgbImage pixels_of(Picture& picture) {
  return {picture.rgb.data(), picture.width, picture.height};
}

// What a picture becomes.
std::vector<uint8_t> changed(const std::vector<Augmentation>& augmentations,
                             const SampleKey& key = {1, 2, 3}) {
  Picture picture = make_picture(kNestedWidth, kNestedHeight);
  Augmenter augmenter(augmentations);
  augmenter.run(pixels_of(picture), key);
  return picture.rgb;
}

// Writes the first of its numbers over the pixel that it was made with.
class Noting : public PixelTransform {
 public:
  explicit Noting(size_t pixel) : pixel_(pixel) {}
  void apply(const RgbImage& image, CounterRandom& random) const override {
    for (size_t i = 0; i < 3; ++i) {
      image.data[3 * pixel_ + i] = static_cast<uint8_t>(random.below(256));
    }
  }

 private:
  size_t pixel_;
};

Augmentation noting(size_t pixel) {
  return std::make_shared<const Noting>(pixel);
}

std::array<uint8_t, 3> noted(const std::vector<uint8_t>& rgb, size_t pixel) {
  return {rgb[3 * pixel], rgb[3 * pixel + 1], rgb[3 * pixel + 2]};
}

Augmentation always(std::vector<Augmentation> augmentations) {
  return Apply{.probability = 1, .augmentations = std::move(augmentations)};
}

TEST(NestedAugmentations, OperationsAreThoseOfPixelOps) {
  const auto expect = [](const Augmentation& augmentation,
                         const std::function<void(const RgbImage&, uint8_t*)>& run) {
    Picture picture = make_picture(kNestedWidth, kNestedHeight);
    std::vector<uint8_t> scratch(picture.rgb.size() + kScratchSlack);
    run(pixels_of(picture), scratch.data());
    EXPECT_EQ(changed({augmentation}), picture.rgb) << augmentation.index();
    EXPECT_NE(picture.rgb, make_picture(kNestedWidth, kNestedHeight).rgb) << augmentation.index();
  };
  expect(Solarize{.threshold = 90}, [](const RgbImage& im, uint8_t*) { solarize(im, 90); });
  expect(Posterize{.bits = 3}, [](const RgbImage& im, uint8_t*) { posterize(im, 3); });
  expect(Equalize{}, [](const RgbImage& im, uint8_t*) { equalize(im); });
  expect(AutoContrast{}, [](const RgbImage& im, uint8_t*) { autocontrast(im); });
  expect(Grayscale{}, [](const RgbImage& im, uint8_t*) { grayscale(im); });
  expect(Invert{}, [](const RgbImage& im, uint8_t*) { invert(im); });
  expect(AdjustSharpness{.factor = 1.7},
         [](const RgbImage& im, uint8_t* s) { adjust_sharpness(im, 1.7, s); });
  GaussianBlurrer blurrer;
  expect(GaussianBlur{.sigma = 1.5},
         [&](const RgbImage& im, uint8_t*) { blurrer.blur_as_pillow(im, 1.5); });
  expect(GaussianBlur{.sigma = 1.5, .kernel_size = 7},
         [&](const RgbImage& im, uint8_t*) { blurrer.blur_as_torchvision(im, 7, 1.5); });
}

TEST(NestedAugmentations, BlurDrawsItsSigmaUniformly) {
  for (int64_t i = 0; i < 20; ++i) {
    const SampleKey key{7, 1, i};
    CounterRandom random(nested_key(key, augmentation_place(kTopPlace, 5, 1)), kNestedStream);
    Picture picture = make_picture(kNestedWidth, kNestedHeight);
    GaussianBlurrer().blur_as_pillow(pixels_of(picture), random.uniform(0.3, 3));
    // The second one: the first changes nothing.
    EXPECT_EQ(changed({GaussianBlur{.sigma = 0}, GaussianBlur{.sigma = {0.3, 3}}}, key),
              picture.rgb);
  }
}

TEST(NestedAugmentations, ApplyTakesAllInOrderOrNone) {
  const auto plain = make_picture(kNestedWidth, kNestedHeight).rgb;
  const std::vector<Augmentation> both = {Solarize{.threshold = 100}, Posterize{.bits = 2}};
  const auto expected = changed(both);
  ASSERT_NE(changed({both[1], both[0]}), expected);
  constexpr int kDraws = 4000;
  for (const double probability : {0.0, 0.2, 0.9, 1.0}) {
    int num_applied = 0;
    for (int64_t i = 0; i < kDraws; ++i) {
      const auto found =
          changed({Apply{.probability = probability, .augmentations = both}}, {4, 0, i});
      ASSERT_TRUE(found == plain || found == expected);
      num_applied += found == expected ? 1 : 0;
    }
    // Five standard deviations; certainty is exact.
    const double deviation = 5 * std::sqrt(kDraws * probability * (1 - probability));
    EXPECT_NEAR(num_applied, kDraws * probability, deviation);
  }
}

TEST(NestedAugmentations, OneOfTakesExactlyOneByItsWeights) {
  const std::vector<Augmentation> three = {Invert{}, Posterize{.bits = 2}, Solarize{}};
  constexpr int kDraws = 6000;
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {1, 1, 1}, {0, 3, 1}, {0.1, 0, 0}, {5, 1, 0}}) {
    std::array<int, 3> counts = {};
    for (int64_t i = 0; i < kDraws; ++i) {
      const auto found = changed({OneOf{.augmentations = three, .weights = weights}}, {4, 0, i});
      int num_equal = 0;
      for (size_t k = 0; k < 3; ++k) {
        if (found != changed({three[k]})) continue;
        ++counts[k];
        ++num_equal;
      }
      ASSERT_EQ(num_equal, 1);
    }
    double sum = 0;
    for (size_t k = 0; k < 3; ++k) sum += weights.empty() ? 1 : weights[k];
    for (size_t k = 0; k < 3; ++k) {
      const double share = (weights.empty() ? 1 : weights[k]) / sum;
      const double deviation = 5 * std::sqrt(kDraws * share * (1 - share));
      EXPECT_NEAR(counts[k], kDraws * share, deviation) << k;
    }
  }
}

TEST(NestedAugmentations, TheyNest) {
  const auto expected = changed({Invert{}, Posterize{.bits = 2}});
  EXPECT_EQ(changed({always({always({Invert{}}), OneOf{.augmentations = {Posterize{.bits = 2}}}})}),
            expected);
  EXPECT_EQ(changed({always({Apply{.probability = 0, .augmentations = {Solarize{}}}, Invert{},
                             Posterize{.bits = 2}})}),
            expected);
  // Independent: both, one of them and none are all drawn, a quarter each.
  const Augmentation half = Apply{.augmentations = {noting(1)}};
  const Augmentation other = Apply{.augmentations = {noting(2)}};
  const auto plain = make_picture(kNestedWidth, kNestedHeight).rgb;
  std::array<int, 4> counts = {};
  for (int64_t i = 0; i < 4000; ++i) {
    const auto found = changed({always({half, other})}, {9, 0, i});
    ++counts[(noted(found, 1) != noted(plain, 1) ? 1U : 0U) +
             (noted(found, 2) != noted(plain, 2) ? 2U : 0U)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 137);
}

TEST(NestedAugmentations, NumbersDependOnTheSampleAndThePlaceAlone) {
  const Augmentation nested = always({noting(1), always({noting(2)}), noting(3)});
  const auto expected = changed({nested});
  EXPECT_EQ(changed({nested}), expected);
  for (const SampleKey& key : {SampleKey{2, 2, 3}, SampleKey{1, 3, 3}, SampleKey{1, 2, 4}}) {
    const auto other = changed({nested}, key);
    for (size_t pixel = 1; pixel <= 3; ++pixel) {
      EXPECT_NE(noted(other, pixel), noted(expected, pixel));
    }
  }
  // All places have numbers of their own, also those of one kind in other lists.
  const auto many = changed(
      {noting(0), nested, always({noting(4)}), OneOf{.augmentations = {noting(5)}}, noting(6)});
  std::set<std::array<uint8_t, 3>> numbers;
  for (size_t pixel = 0; pixel <= 6; ++pixel) numbers.insert(noted(many, pixel));
  EXPECT_EQ(numbers.size(), 7U);
  for (size_t pixel = 1; pixel <= 3; ++pixel) {
    EXPECT_EQ(noted(many, pixel), noted(expected, pixel));
  }
}

TEST(NestedAugmentations, AnotherKindMovesNoNumbers) {
  const auto alone = changed({noting(0), always({noting(1)})});
  const auto among =
      changed({GaussianBlur{.sigma = 0}, Grayscale{}, noting(0),
               OneOf{.augmentations = {noting(2), noting(3)}},
               always({GaussianBlur{.sigma = 0}, noting(1), OneOf{.augmentations = {noting(4)}}})});
  EXPECT_EQ(noted(among, 0), noted(alone, 0));
  EXPECT_EQ(noted(among, 1), noted(alone, 1));
}

// Of the rule in random_streams.h: another one would change what users' seeds give.
TEST(NestedAugmentations, PlacesAreWhatTheyWere) {
  EXPECT_EQ(kNestedStream, 96);
  EXPECT_EQ(augmentation_stream(4, 15), 95);
  const uint64_t outer = augmentation_place(kTopPlace, 13, 0);
  EXPECT_EQ(outer, mix64(mix64(0) ^ (uint64_t{13} << 32)));
  EXPECT_EQ(augmentation_place(outer, 3, 2), mix64(mix64(outer) ^ ((uint64_t{3} << 32) + 2)));
  EXPECT_EQ(Augmentation(Apply{}).index(), 13U);
  EXPECT_EQ(Augmentation(OneOf{}).index(), 14U);
  EXPECT_EQ(Augmentation(GaussianBlur{}).index(), kFirstNestedKind);
  const SampleKey key = nested_key({5, 6, 7}, outer);
  EXPECT_EQ(key.seed, mix64(mix64(outer) ^ 5));
  EXPECT_EQ(key.epoch, 6);
  EXPECT_EQ(key.record_index, 7);
}

}  // namespace
}  // namespace ffkit
