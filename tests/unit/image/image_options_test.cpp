#include <ffkit/image/image_options.h>
#include <ffkit/image/transform.h>

#include "test_prelude.h"

namespace ffkit {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_augmentation_refused(const Augmentation& augmentation) {
  EXPECT_ERROR(validate(ImageOptions{.augmentations = {augmentation}}), invalid_argument);
}

TEST(ImageOptions, DefaultsAreValid) {
  EXPECT_NO_THROW(validate(ImageOptions{}));
  EXPECT_NO_THROW(
      validate(ImageOptions{.augmentations = {ColorJitter{}, RandAugment{}, TrivialAugmentWide{}},
                            .erasing = RandomErasing{}}));
}

TEST(ImageOptions, SixteenAugmentationsOfAKindAreTheMost) {
  ImageOptions options;
  options.augmentations.assign(16, RandAugment{});
  options.augmentations.emplace_back(ColorJitter{});
  EXPECT_NO_THROW(validate(options));
  options.augmentations.emplace_back(RandAugment{});
  EXPECT_ERROR(validate(options), invalid_argument);
}

TEST(ImageOptions, RangesOfOneNumberAreTorchvisions) {
  const ColorJitter jitter{.brightness = 0.4, .saturation = 1.5, .hue = 0.1};
  EXPECT_DOUBLE_EQ(jitter.brightness.min, 0.6);
  EXPECT_DOUBLE_EQ(jitter.brightness.max, 1.4);
  EXPECT_EQ(jitter.contrast.min, 1);
  EXPECT_EQ(jitter.contrast.max, 1);
  EXPECT_EQ(jitter.saturation.min, 0);
  EXPECT_EQ(jitter.saturation.max, 2.5);
  EXPECT_EQ(jitter.hue.min, -0.1);
  EXPECT_EQ(jitter.hue.max, 0.1);
}

TEST(ImageOptions, ValidateNamesTheFirstBadValue) {
  expect_augmentation_refused(ColorJitter{.brightness = -0.5});
  expect_augmentation_refused(ColorJitter{.contrast = {-1, 2}});
  expect_augmentation_refused(ColorJitter{.saturation = {kNan, 2}});
  expect_augmentation_refused(ColorJitter{.hue = 0.6});
  expect_augmentation_refused(ColorJitter{.hue = {0, 0.6}});
  expect_augmentation_refused(RandAugment{.num_ops = -1});
  expect_augmentation_refused(RandAugment{.magnitude = 31});
  expect_augmentation_refused(RandAugment{.num_magnitude_bins = 1});
  expect_augmentation_refused(TrivialAugmentWide{.num_magnitude_bins = 0});
  expect_augmentation_refused(std::shared_ptr<const PixelTransform>());
  const ImageOptions many{.augmentations = std::vector<Augmentation>(17, ColorJitter{})};
  EXPECT_ERROR(validate(many), invalid_argument);
  EXPECT_ERROR(validate(ImageOptions{.transform = Resize{.size = {0, 0}}}), invalid_argument);
}

TEST(ImageOptions, ValidateNamesBadOperations) {
  expect_augmentation_refused(GaussianBlur{.sigma = -1});
  expect_augmentation_refused(GaussianBlur{.sigma = {0.5, 0.1}});
  expect_augmentation_refused(GaussianBlur{.sigma = {kNan, 1}});
  expect_augmentation_refused(GaussianBlur{.sigma = 101});
  expect_augmentation_refused(GaussianBlur{.sigma = 0, .kernel_size = 3});
  expect_augmentation_refused(GaussianBlur{.kernel_size = 8});
  expect_augmentation_refused(GaussianBlur{.kernel_size = -1});
  expect_augmentation_refused(GaussianBlur{.kernel_size = 257});
  expect_augmentation_refused(Solarize{.threshold = 256.5});
  expect_augmentation_refused(Solarize{.threshold = kNan});
  expect_augmentation_refused(Posterize{.bits = 0});
  expect_augmentation_refused(Posterize{.bits = 9});
  expect_augmentation_refused(AdjustSharpness{.factor = -0.1});
  const ImageOptions ends{
      .augmentations = {
          GaussianBlur{.sigma = {0, 100}}, GaussianBlur{.sigma = {1e-9, 100}, .kernel_size = 255},
          GaussianBlur{.sigma = 1, .kernel_size = 1}, Solarize{.threshold = 0},
          Solarize{.threshold = 256}, Posterize{.bits = 1}, Posterize{.bits = 8}, Equalize{},
          AutoContrast{}, Grayscale{}, Invert{}, AdjustSharpness{.factor = 0}}};
  EXPECT_NO_THROW(validate(ends));
}

TEST(ImageOptions, ValidateChecksApplyAndOneOf) {
  expect_augmentation_refused(Apply{.probability = 1.1, .augmentations = {Invert{}}});
  expect_augmentation_refused(Apply{.augmentations = {}});
  expect_augmentation_refused(Apply{.augmentations = {Invert{}, Solarize{.threshold = -1}}});
  expect_augmentation_refused(
      Apply{.augmentations = std::vector<Augmentation>(17, Augmentation(Invert{}))});
  expect_augmentation_refused(OneOf{.augmentations = {}});
  expect_augmentation_refused(OneOf{.augmentations = {Invert{}}, .weights = {1, 2}});
  expect_augmentation_refused(OneOf{.augmentations = {Invert{}, Equalize{}}, .weights = {1, -1}});
  expect_augmentation_refused(OneOf{.augmentations = {Invert{}, Equalize{}}, .weights = {0, 0}});
  expect_augmentation_refused(OneOf{.augmentations = {Invert{}, Posterize{.bits = -1}}});
  expect_augmentation_refused(Apply{.augmentations = {PhotoMetricDistortion{}}});
  // What is within counts on its own, and a ScalePad has none of it.
  EXPECT_NO_THROW(validate(ImageOptions{
      .augmentations = {Apply{.augmentations = std::vector<Augmentation>(16, Invert{})},
                        OneOf{.augmentations = {Invert{}, Equalize{}}, .weights = {0, 3}},
                        Invert{}}}));
  EXPECT_ERROR(validate(ImageOptions{.transform = ScalePad{},
                                     .augmentations = {Apply{.augmentations = {Invert{}}}}}),
               invalid_argument);
  EXPECT_ERROR(validate(ImageOptions{.augmentations = {Apply{.augmentations = {Invert{}}}},
                                     .output = {.dtype = DType::u16, .normalize = false}}),
               invalid_argument);
}

TEST(ImageOptions, SixteenLevelsAreTheMost) {
  Augmentation augmentation = Invert{};
  for (int level = 0; level < 16; ++level) {
    augmentation = level % 2 == 0 ? Augmentation(Apply{.augmentations = {augmentation}})
                                  : Augmentation(OneOf{.augmentations = {augmentation}});
  }
  EXPECT_NO_THROW(validate(ImageOptions{.augmentations = {augmentation}}));
  expect_augmentation_refused(Apply{.augmentations = {augmentation}});
}

TEST(ImageOptions, MovesPixelsLooksWithin) {
  EXPECT_FALSE(moves_pixels({}));
  EXPECT_FALSE(moves_pixels({ColorJitter{}, GaussianBlur{}, Apply{.augmentations = {Invert{}}}}));
  EXPECT_TRUE(moves_pixels({Invert{}, TrivialAugmentWide{}}));
  EXPECT_TRUE(moves_pixels(
      {Apply{.augmentations = {Invert{}, OneOf{.augmentations = {Invert{}, RandAugment{}}}}}}));
}

TEST(ImageOptions, ValidateChecksErasing) {
  const auto expect = [](const RandomErasing& erasing) {
    EXPECT_ERROR(validate(ImageOptions{.erasing = erasing}), invalid_argument);
  };
  expect({.probability = 1.5});
  expect({.scale_min = 0});
  expect({.scale_max = 2});
  expect({.ratio_min = kNan});
  expect({.ratio_max = 0.1});
  expect({.value = std::numeric_limits<float>::infinity()});
  const ImageOutput u8{.dtype = DType::u8, .normalize = false};
  EXPECT_ERROR(validate(ImageOptions{.erasing = RandomErasing{.value = 256}, .output = u8}),
               invalid_argument);
  EXPECT_ERROR(validate(ImageOptions{.erasing = RandomErasing{.noise = true}, .output = u8}),
               invalid_argument);
}

TEST(Transform, OutputSizeIsTheTransforms) {
  EXPECT_EQ(image_size(RandomResizedCrop{.size = 96}), ImageSize(96));
  EXPECT_EQ(image_size(ResizeCenterCrop{.resize = 300, .size = 288}), ImageSize(288));
}

TEST(Transform, SizesMayBeRectangles) {
  EXPECT_EQ(image_size(RandomCrop{.size = {20, 30}}), ImageSize(20, 30));
  EXPECT_EQ(image_size(Resize{.size = ImageSize(7)}), ImageSize(7, 7));
}

TEST(Transform, DefaultsAreValid) {
  EXPECT_NO_THROW(validate(RandomResizedCrop{}, {}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{}, {}));
  EXPECT_NO_THROW(validate(Resize{}, {}));
  EXPECT_NO_THROW(validate(RandomCrop{}, {}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{}, {.dtype = DType::u8, .normalize = false}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{.resize = 32, .size = 64}, {.dtype = DType::bf16}));
}

TEST(Transform, ValidateNamesTheFirstBadValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect = [](const ImageTransform& transform) {
    EXPECT_ERROR(validate(transform, {}), invalid_argument);
  };
  expect(RandomResizedCrop{.size = 0});
  expect(RandomResizedCrop{.size = 8193});
  expect(RandomResizedCrop{.scale_min = 0});
  expect(RandomResizedCrop{.scale_min = nan});
  expect(RandomResizedCrop{.scale_max = 1.5});
  expect(RandomResizedCrop{.scale_min = 0.5, .scale_max = 0.4});
  expect(RandomResizedCrop{.ratio_min = -1});
  expect(RandomResizedCrop{.ratio_min = 2, .ratio_max = 1});
  expect(RandomResizedCrop{.flip_probability = 1.1});
  expect(ResizeCenterCrop{.resize = -3});
  expect(ResizeCenterCrop{.size = 0});
  expect(ResizeCenterCrop{.size = {3, 0}});
  expect(Resize{.size = {9000, 3}});
  expect(RandomCrop{.size = -1});
  expect(RandomCrop{.padding = {0, 0, -2, 0}});
  expect(RandomCrop{.flip_probability = nan});
}

TEST(Transform, InterpolationsHaveNames) {
  for (const auto& [interpolation, name] : kNames<Interpolation>.names) {
    EXPECT_EQ(from_name<Interpolation>(name), interpolation);
    if (is_built(interpolation)) {
      EXPECT_NO_THROW(validate(Resize{.interpolation = interpolation}, {}));
    } else {
      EXPECT_ERROR_CODE(validate(Resize{.interpolation = interpolation}, {}), unsupported);
    }
  }
  EXPECT_ERROR(from_name<Interpolation>("lanczos"), invalid_argument);
  EXPECT_ERROR(validate(Resize{.interpolation = static_cast<Interpolation>(7)}, {}),
               invalid_argument);
}

TEST(Transform, ValidateChecksTheOutput) {
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::u8}), invalid_argument);
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::f64}), invalid_argument);
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.std = {1, 0, 1}}), invalid_argument);
  EXPECT_ERROR(
      validate(ResizeCenterCrop{}, {.mean = {0, 0, std::numeric_limits<float>::infinity()}}),
      invalid_argument);
}

}  // namespace
}  // namespace ffkit
