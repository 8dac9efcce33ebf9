// What all transforms share: plans, and pixels that are the same in every layout.
#include "transform/picture_scaler.h"

#include <ffkit/image/image_resizer.h>

#include "image_prelude.h"
#include "reference_python.h"
#include "resize/resample_passes.h"

namespace ffkit {
namespace {

using testing::copy;

std::vector<ImageTransform> transforms_of_all_kinds() {
  std::vector<ImageTransform> all = {
      RandomCrop{
          .size = {20, 24}, .pad_if_needed = true, .flip_probability = 1},  // inside of the picture
      RandomCrop{.size = {90, 100},
                 .pad_if_needed = true,
                 .fill = {1, 2, 3},
                 .flip_probability = 1},  // around it
      RandomCrop{
          .size = 2, .padding = Padding(500, 0, 0, 0), .pad_if_needed = true},  // mostly beside it
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
  const RandomCrop beside{
      .size = 2, .padding = Padding(500, 0, 0, 0), .pad_if_needed = true, .fill = {1, 2, 3}};
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

// With the slack that RgbView promises.
Picture resize(ImageResizer& resizer, Picture picture, int width, int height,
               Interpolation interpolation = Interpolation::bilinear) {
  picture.rgb.resize(picture.rgb.size() + 64);
  return copy(resizer.resize(picture.view(), width, height, interpolation));
}

TEST(ImageResizer, KeepsWhatIsOfTheSizeAlready) {
  ImageResizer resizer;
  for (const auto& [width, height] : {std::pair(1, 1), {3, 200}, {200, 3}, {71, 40}}) {
    const Picture picture = make_picture(width, height);
    const Picture same = resize(resizer, picture, width, height);
    EXPECT_EQ(same.width, width);
    EXPECT_EQ(same.height, height);
    EXPECT_EQ(same.rgb, picture.rgb);
  }
}

TEST(ImageResizer, OneColourStaysThatColour) {
  ImageResizer resizer;
  Picture flat{40, 90, {}};
  for (int i = 0; i < 40 * 90; ++i) flat.rgb.insert(flat.rgb.end(), {255, 0, 117});
  for (const auto& [width, height] : {std::pair(1, 1), {7, 80}, {39, 2}, {100, 300}}) {
    const Picture small = resize(resizer, flat, width, height);
    ASSERT_EQ(small.rgb.size(), 3 * size_t(width) * size_t(height));
    for (size_t i = 0; i < small.rgb.size(); ++i) ASSERT_EQ(small.rgb[i], flat.rgb[i % 3]);
  }
}

TEST(ImageResizer, RefusesEmptySizes) {
  const Picture picture = make_picture(8, 8);
  EXPECT_ERROR(ImageResizer().resize(picture.view(), 0, 5), invalid_argument);
}

// Sizes at which either pass comes first; black and white, where rounding shows most.
TEST(ImageResizer, AgreesWithPillowToTheBit) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(testing::run_python(
      "import random\n"
      "import numpy as np\n"
      "from PIL import Image, __version__\n"
      "random.seed(9)\n"
      "rng = np.random.default_rng(9)\n"
      "sizes, pixels, results = [], [], []\n"
      "for i in range(300):\n"
      "  w, h, ow, oh = (random.randint(1, 90) for _ in range(4))\n"
      "  if i % 3 == 0: h = max(1, oh + 2 * (w - ow) + random.randint(-2, 2))\n"
      "  a = rng.integers(0, 256, (h, w, 3), dtype=np.uint8) if i % 2 else rng.integers(0, 2, (h, "
      "w, 3), dtype=np.uint8) * 255\n"
      "  sizes += [w, h, ow, oh]\n"
      "  pixels.append(a.ravel())\n"
      "  for f in (Image.BILINEAR, Image.BICUBIC):\n"
      "    results.append(np.asarray(Image.fromarray(a).resize((ow, oh), f)).ravel())\n"
      "sizes.append(int(__version__.split('.')[0]))\n"
      "np.array(sizes, np.int32).tofile('sizes')\n"
      "np.concatenate(pixels).astype(np.uint8).tofile('pixels')\n"
      "np.concatenate(results).tofile('results')\n",
      dir.path()));
  const auto sizes = testing::read_values<int32_t>(dir / "sizes");
  if (sizes.back() < 13) GTEST_SKIP() << "Pillow " << sizes.back() << " is older than 13";
  const auto pixels = testing::read_values<uint8_t>(dir / "pixels");
  const auto results = testing::read_values<uint8_t>(dir / "results");
  ImageResizer resizer;
  auto pixel = pixels.begin();
  auto result = results.begin();
  for (size_t i = 0; i + 4 < sizes.size(); i += 4) {
    Picture picture{sizes[i], sizes[i + 1], {}};
    const ptrdiff_t num_bytes = ptrdiff_t{3} * picture.width * picture.height;
    picture.rgb.assign(pixel, pixel + num_bytes);
    pixel += num_bytes;
    const int width = sizes[i + 2];
    const int height = sizes[i + 3];
    for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
      const ptrdiff_t num_results = ptrdiff_t{3} * width * height;
      ASSERT_EQ(resize(resizer, picture, width, height, filter).rgb,
                (std::vector<uint8_t>(result, result + num_results)))
          << picture.width << "x" << picture.height << " to " << width << "x" << height;
      result += num_results;
    }
  }
}

}  // namespace
}  // namespace ffkit
