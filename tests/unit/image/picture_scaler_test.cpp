// What all transforms share: plans, and pixels that are the same in every layout.
#include "transform/picture_scaler.h"

#include <gtest/gtest.h>

#include <ffkit/image/image_codec.h>

#include "resize/opencv_resize.h"
#include "test_images.h"
#include "views/picture_views.h"

namespace ffkit {
namespace {

std::vector<ImageTransform> transforms_of_all_kinds() {
  std::vector<ImageTransform> all = {
      RandomCrop{.size = {20, 24}, .flip_probability = 1},  // inside of the picture
      RandomCrop{.size = {90, 100}, .fill = {1, 2, 3}, .flip_probability = 1},  // around it
      RandomCrop{.size = 2, .padding = Padding(500, 0, 0, 0)},                  // mostly beside it
      Resize{.size = {48, 64}},                                                 // its own size
  };
  for (const auto interpolation :
       {Interpolation::bilinear, Interpolation::bicubic, Interpolation::opencv_bilinear}) {
    if (interpolation == Interpolation::opencv_bilinear && !has_opencv()) continue;
    all.emplace_back(
        RandomResizedCrop{.size = {9, 12}, .flip_probability = 1, .interpolation = interpolation});
    all.emplace_back(
        ResizeCenterCrop{.resize = 30, .size = {34, 20}, .interpolation = interpolation});
    all.emplace_back(Resize{.size = {20, 30}, .interpolation = interpolation});
    all.emplace_back(ResizeCrop{.size = {30, 50},
                                .factor_min = 0.5,
                                .factor_max = 0.5,
                                .flip_probability = 1,
                                .interpolation = interpolation});
  }
  return all;
}

template <typename T>
std::vector<T> run_pipeline(const ImageOptions& options, const std::vector<std::byte>& image) {
  const ImageSize size = image_size(options.transform);
  std::vector<T> out(static_cast<size_t>(3 * size.height * size.width), T{7});
  PipelineTimes times;
  ImagePipeline(options).run(image, {.seed = 3}, out.data(), times);
  return out;
}

TEST(PictureScaler, PixelsAreTheSameInEveryLayoutAndType) {
  const auto image = encode_jpeg(testing::make_picture(64, 48, 3).view());
  const std::vector<ImageTransform> all = transforms_of_all_kinds();
  for (size_t i = 0; i < all.size(); ++i) {
    const ImageOptions rows{.transform = all[i], .output = {DType::u8, Layout::nhwc, false}};
    const auto pixels = run_pipeline<uint8_t>(rows, image);
    const size_t plane = pixels.size() / 3;
    const ImageOptions planes{.transform = all[i], .output = {DType::u8, Layout::nchw, false}};
    const auto planar = run_pipeline<uint8_t>(planes, image);
    const ImageOptions floats{.transform = all[i], .output = {DType::f32, Layout::nchw, false}};
    const auto numbers = run_pipeline<float>(floats, image);
    ImageOptions augmented = floats;
    augmented.augmentations.emplace_back(ColorJitter{});  // changes nothing
    EXPECT_EQ(run_pipeline<float>(augmented, image), numbers) << i;
    for (size_t pixel = 0; pixel < plane; ++pixel) {
      for (size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(planar[c * plane + pixel], pixels[3 * pixel + c]) << i << ", pixel " << pixel;
        ASSERT_NEAR(numbers[c * plane + pixel], pixels[3 * pixel + c] / 255.0, 1e-6) << i;
      }
    }
  }
}

TEST(CropPlan, WhereNothingIsTakenAllIsFilled) {
  const RandomCrop beside{.size = 2, .padding = Padding(500, 0, 0, 0), .fill = {1, 2, 3}};
  const CropPlan plan = plan_crop(beside, 8, 8, {.seed = 3});
  EXPECT_EQ(plan.taken.width, 0);
  EXPECT_FALSE(plan.resizes());
  const auto image = encode_png(testing::make_picture(8, 8).view());
  const auto out = run_pipeline<uint8_t>(
      {.transform = beside, .output = {DType::u8, Layout::nhwc, false}}, image);
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(CropPlan, APictureOfTheRightSizeIsNotResized) {
  EXPECT_FALSE(plan_crop(Resize{.size = {48, 64}}, 64, 48, {}).resizes());
  EXPECT_TRUE(plan_crop(Resize{.size = {48, 64}}, 64, 49, {}).resizes());
  EXPECT_FALSE(plan_crop(ResizeCenterCrop{.resize = 48, .size = 32}, 64, 48, {}).resizes());
  EXPECT_FALSE(plan_crop(ResizeCrop{.factor_min = 1, .factor_max = 1}, 64, 48, {}).resizes());
}

}  // namespace
}  // namespace ffkit
