// ImagePipeline with augmentations and erasing: the way by RGB pixels beside the fused one.
#include "elements.h"
#include "highway_targets.h"
#include "image_prelude.h"
#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

using testing::elements;

constexpr ImageOutput kU8Augmented{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

// The sample as bytes; nothing may be written behind it.
std::vector<uint8_t> run_augmented(const ImageOptions& options, const std::vector<std::byte>& image,
                                   const SampleKey& key = {}) {
  const ImageSize size = image_size(options.transform);
  const size_t num_bytes = size_t(3 * size.height * size.width) * size_of(options.output.dtype);
  std::vector<uint8_t> out(num_bytes + 64, 0xAB);
  PipelineTimes times;
  ImagePipeline(options).run(image, key, out.data(), times);
  for (size_t i = num_bytes; i < out.size(); ++i) EXPECT_EQ(out[i], 0xAB);
  out.resize(num_bytes);
  return out;
}

class Identity : public PixelTransform {
 public:
  void apply(const RgbImage&, CounterRandom&) const override {}
};

class Inverting : public PixelTransform {
 public:
  void apply(const RgbImage& image, CounterRandom&) const override { invert(image); }
};

std::vector<ImageTransform> transforms() {
  std::vector<ImageTransform> list;
  for (const ImageSize size : {ImageSize(1), ImageSize(2), ImageSize(15), ImageSize(16),
                               ImageSize(17), ImageSize(33, 7), ImageSize(5, 64)}) {
    list.push_back(RandomResizedCrop{.size = size});
    list.push_back(RandomResizedCrop{.size = size, .interpolation = Interpolation::bicubic});
    list.push_back(ResizeCenterCrop{.resize = 20, .size = size});
    list.push_back(Resize{.size = size, .interpolation = Interpolation::bicubic});
    list.push_back(
        RandomCrop{.size = size, .padding = 2, .pad_if_needed = true, .fill = {1, 100, 200}});
  }
  return list;
}

std::vector<std::vector<std::byte>> augmented_images() {
  std::vector<std::vector<std::byte>> list;
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(1, 40), std::pair(300, 1), std::pair(40, 30)}) {
    const Picture picture = make_picture(width, height);
    list.push_back(encode_jpeg(picture.view()));
    list.push_back(encode_png(picture.view()));
  }
  const Picture picture = make_picture(37, 29);
  list.push_back(testing::encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE}));
  list.push_back(testing::encode_jpeg_as(picture, {.stored = JCS_CMYK}));
  return list;
}

class PipelineOnEveryTarget : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(PipelineOnEveryTarget);

TEST_P(PipelineOnEveryTarget, AnAugmentationThatChangesNothingChangesNoBit) {
  const auto identity = std::make_shared<const Identity>();
  int number = 0;
  for (const auto& image : augmented_images()) {
    ++number;
    for (const ImageTransform& transform : transforms()) {
      for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
        for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
          ImageOptions options{
              .transform = transform,
              .output = {.dtype = dtype, .layout = layout, .normalize = dtype != DType::u8}};
          const SampleKey key{1, 2, number};
          const auto fused = run_augmented(options, image, key);
          options.augmentations = {identity};
          ASSERT_TRUE(run_augmented(options, image, key) == fused)
              << "image " << number << " transform " << transform.index() << " to "
              << to_string(dtype);
        }
      }
    }
  }
}

TEST(AugmentedPipeline, AugmentsBetweenTheCropAndTheNormalisation) {
  const auto image = encode_jpeg(make_picture(90, 70).view());
  for (const ImageTransform& transform : transforms()) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      ImageOptions options{.transform = transform, .output = kU8Augmented};
      options.output.layout = layout;
      const auto plain = run_augmented(options, image, {1, 2, 3});
      options.augmentations = {std::make_shared<const Inverting>()};
      auto inverted = run_augmented(options, image, {1, 2, 3});
      ASSERT_EQ(inverted.size(), plain.size());
      for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(inverted[i], 255 - plain[i]);
      options.output = {.dtype = DType::f32, .layout = layout};
      const auto values = elements(run_augmented(options, image, {1, 2, 3}), DType::f32);
      const size_t area = values.size() / 3;
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t c = layout == Layout::nchw ? i / area : i % 3;
        const float pixel = float(inverted[i]) / 255;
        ASSERT_NEAR(values[i], (pixel - options.output.mean[c]) / options.output.std[c], 1e-6);
      }
    }
  }
}

TEST(AugmentedPipeline, CropsDoNotDependOnAugmentationsNorErasing) {
  const auto image = encode_jpeg(make_picture(90, 70).view());
  ImageOptions options{.transform = RandomResizedCrop{.size = 32}, .output = kU8Augmented};
  for (int64_t i = 0; i < 20; ++i) {
    options.augmentations = {};
    options.erasing = {};
    const auto plain = run_augmented(options, image, {1, 2, i});
    options.augmentations = {std::make_shared<const Inverting>(), RandAugment{.num_ops = 0},
                             std::make_shared<const Inverting>()};
    options.erasing = RandomErasing{.probability = 0};
    ASSERT_EQ(run_augmented(options, image, {1, 2, i}), plain);
  }
}

TEST(AugmentedPipeline, ErasesTheFinishedSample) {
  const auto image = encode_jpeg(make_picture(90, 70).view());
  for (const bool augment : {false, true}) {
    ImageOptions options{.transform = RandomCrop{.size = {40, 30}, .pad_if_needed = true}};
    if (augment) options.augmentations = {std::make_shared<const Inverting>()};
    for (int64_t i = 0; i < 10; ++i) {
      options.erasing = {};
      auto expected = run_augmented(options, image, {1, 2, i});
      options.erasing = RandomErasing{.probability = 1, .value = -7};
      CounterRandom random({1, 2, i}, kErasingStream);
      erase(*options.erasing, options.output, {40, 30}, {40, 30}, random, expected.data());
      ASSERT_EQ(run_augmented(options, image, {1, 2, i}), expected);
    }
  }
}

TEST(AugmentedPipeline, IsTheSameForTheSameKeyWhateverRanBefore) {
  const auto image = encode_jpeg(make_picture(90, 70).view());
  const auto other = encode_jpeg(make_picture(300, 20).view());
  const ImageOptions options{
      .transform = RandomResizedCrop{.size = 48},
      .augmentations = {ColorJitter{.brightness = 0.4, .contrast = 0.4, .hue = 0.2}, RandAugment{},
                        TrivialAugmentWide{}},
      .erasing = RandomErasing{.noise = true},
      .output = {.dtype = DType::bf16}};
  ImagePipeline pipeline(options);
  PipelineTimes times;
  std::vector<uint8_t> out(3 * 48 * 48 * 2);
  for (int64_t i = 0; i < 30; ++i) {
    const auto expected = run_augmented(options, image, {1, 2, i});
    pipeline.run(other, {1, 2, i + 1000}, out.data(), times);
    pipeline.run(image, {1, 2, i}, out.data(), times);
    ASSERT_EQ(out, expected);
    std::thread([&] { out = run_augmented(options, image, {1, 2, i}); }).join();
    ASSERT_EQ(out, expected);
    ASSERT_NE(run_augmented(options, image, {1, 3, i}), expected);
  }
}

class Refusing : public PixelTransform {
 public:
  void apply(const RgbImage&, CounterRandom&) const override {
    throw Error(ErrorCode::corrupt, "no such pixels");
  }
};

TEST(AugmentedPipeline, PassesOnWhatAPixelTransformThrows) {
  const auto image = encode_jpeg(make_picture(20, 20).view());
  ImageOptions options;
  options.augmentations = {std::make_shared<const Refusing>()};
  EXPECT_THROW(run_augmented(options, image), Error);
}

TEST(AugmentedPipeline, BrokenImagesAreRefusedWhereOnlyPaddingIsDrawn) {
  const auto image = encode_png(make_picture(40, 40).view());
  const std::vector<std::byte> cut(image.begin(), image.begin() + 60);
  // Nearly always nothing but padding.
  ImageOptions options{.transform = RandomCrop{.size = 2, .padding = 1000, .pad_if_needed = true},
                       .output = kU8Augmented};
  for (int64_t i = 0; i < 5; ++i) EXPECT_THROW(run_augmented(options, cut, {1, 2, i}), Error);
}

}  // namespace
}  // namespace ffkit
