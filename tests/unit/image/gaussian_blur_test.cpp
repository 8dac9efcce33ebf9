#include "highway_targets.h"
#include "image_prelude.h"
#include "pixels/pixel_ops.h"
#include "reference_python.h"

namespace ffkit {
namespace {

// kernel_size 0: Pillow's.
struct BlurCase {
  int kernel_size = 0;
  double sigma = 0;
};

Picture blurred(Picture picture, const BlurCase& c) {
  GaussianBlurrer blurrer;
  const RgbImage image{picture.rgb.data(), picture.width, picture.height};
  if (c.kernel_size == 0) {
    blurrer.blur_as_pillow(image, c.sigma);
  } else {
    blurrer.blur_as_torchvision(image, c.kernel_size, c.sigma);
  }
  return picture;
}

std::vector<Picture> blur_pictures() {
  std::vector<Picture> list;
  for (const auto& [width, height] :
       {std::pair(67, 45), std::pair(64, 64), std::pair(1, 1), std::pair(1, 90), std::pair(90, 1),
        std::pair(2, 3), std::pair(21, 22), std::pair(130, 131), std::pair(224, 224)}) {
    list.push_back(make_picture(width, height, unsigned(width)));
  }
  // Nothing but black and white, one colour, and single white pixels.
  Picture hard = make_picture(61, 47);
  for (uint8_t& value : hard.rgb) value = value < 128 ? 0 : 255;
  list.push_back(hard);
  list.push_back({20, 20, std::vector<uint8_t>(1200, 255)});
  Picture points{90, 80, std::vector<uint8_t>(3 * 90 * 80)};
  for (size_t i = 0; i < points.rgb.size(); i += 1009) points.rgb[i] = 255;
  list.push_back(points);
  return list;
}

const std::string kReadPictures =
    "import numpy as np\n"
    "from PIL import Image, ImageFilter\n"
    "def pictures():\n"
    "  for n in range(int(np.fromfile('count', np.int32)[0])):\n"
    "    w, h = np.fromfile(f'size{n}', np.int32)\n"
    "    yield n, np.fromfile(f'in{n}', np.uint8).reshape(h, w, 3)\n";

void write_pictures(const testing::TempDir& dir, const std::vector<Picture>& pictures) {
  testing::write_values<int32_t>(dir / "count", {int32_t(pictures.size())});
  for (size_t n = 0; n < pictures.size(); ++n) {
    testing::write_values(dir / fmt::format("in{}", n), pictures[n].rgb);
    testing::write_values<int32_t>(dir / fmt::format("size{}", n),
                                   {pictures[n].width, pictures[n].height});
  }
}

TEST(GaussianBlurReference, OfKernelSizeZeroIsPillowsToTheBit) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  // Box radii of 0, 1, ... pixels, their edges, and the largest.
  const std::vector<double> sigmas = {0,   1e-4, 0.1,  0.29, 0.5, 0.8, 0.999, 1,    1.01, 1.4142135,
                                      1.7, 2,    2.44, 3,    3.3, 5,   7.77,  12.5, 30,   100};
  const testing::TempDir dir;
  const auto pictures = blur_pictures();
  write_pictures(dir, pictures);
  testing::write_values(dir / "sigmas", sigmas);
  ASSERT_TRUE(testing::run_python(
      kReadPictures +
          "for n, im in pictures():\n"
          "  np.stack([np.asarray(Image.fromarray(im).filter(ImageFilter.GaussianBlur(float(s))))\n"
          "            for s in np.fromfile('sigmas')]).tofile(f'out{n}')\n",
      dir.path()));
  for (size_t n = 0; n < pictures.size(); ++n) {
    const auto expected = testing::read_values<uint8_t>(dir / fmt::format("out{}", n));
    const size_t num_bytes = pictures[n].rgb.size();
    ASSERT_EQ(expected.size(), num_bytes * sigmas.size());
    for (size_t i = 0; i < sigmas.size(); ++i) {
      const auto begin = expected.begin() + std::ptrdiff_t(i * num_bytes);
      EXPECT_TRUE(std::equal(begin, begin + std::ptrdiff_t(num_bytes),
                             blurred(pictures[n], {0, sigmas[i]}).rgb.begin()))
          << "sigma " << sigmas[i] << " of " << pictures[n].width << "x" << pictures[n].height;
    }
  }
}

// torchvision sums floats in another order. So a value may be off by one where the true one, which
// the script takes in f64, lies within 0.0005 of a half; nowhere else. Transforms of version 1 make
// their kernel by another formula, with the same result.
TEST(GaussianBlurReference, OfAKernelIsTorchvisionsButForRoundedHalves) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const std::vector<BlurCase> cases = {{1, 2},   {3, 0.1},  {3, 0.8},  {3, 50}, {5, 1.3}, {9, 2.0},
                                       {9, 0.4}, {23, 0.1}, {23, 1.1}, {23, 2}, {23, 9.5}};
  const testing::TempDir dir;
  auto pictures = blur_pictures();
  write_pictures(dir, pictures);
  std::vector<double> numbers;
  for (const BlurCase& c : cases) {
    numbers.push_back(c.kernel_size);
    numbers.push_back(c.sigma);
  }
  testing::write_values(dir / "cases", numbers);
  ASSERT_TRUE(testing::run_python(
      kReadPictures +
          "import torch\n"
          "from torchvision import transforms\n"
          "from torchvision.transforms import v2\n"
          "for n, im in pictures():\n"
          "  t = torch.from_numpy(im).permute(2, 0, 1)\n"
          "  for i, (k, s) in enumerate(np.fromfile('cases').reshape(-1, 2)):\n"
          "    k, s = int(k), float(s)\n"
          "    if k // 2 >= min(im.shape[:2]): continue  # torchvision refuses them\n"
          "    exact = v2.functional.gaussian_blur(t.double(), [k, k], [s, s])\n"
          "    near = ((exact - exact.floor() - 0.5).abs() < 5e-4).byte()\n"
          "    old = transforms.functional.gaussian_blur(Image.fromarray(im), [k, k], [s, s])\n"
          "    new = v2.functional.gaussian_blur(Image.fromarray(im), [k, k], [s, s])\n"
          "    near = near.permute(1, 2, 0).numpy()\n"
          "    np.stack([np.asarray(new), np.asarray(old), near]).tofile(f'out{n}_{i}')\n",
      dir.path()));
  int64_t num_values = 0;
  int64_t num_different = 0;
  for (size_t n = 0; n < pictures.size(); ++n) {
    const size_t num_bytes = pictures[n].rgb.size();
    for (size_t i = 0; i < cases.size(); ++i) {
      if (cases[i].kernel_size / 2 >= std::min(pictures[n].width, pictures[n].height)) continue;
      const auto found = blurred(pictures[n], cases[i]).rgb;
      const auto reference = testing::read_values<uint8_t>(dir / fmt::format("out{}_{}", n, i));
      ASSERT_EQ(reference.size(), 3 * num_bytes);
      for (size_t at = 0; at < 2 * num_bytes; ++at) {
        ++num_values;
        const int difference = std::abs(int(reference[at]) - int(found[at % num_bytes]));
        num_different += difference != 0 ? 1 : 0;
        const bool is_near_half = reference[2 * num_bytes + at % num_bytes] != 0;
        ASSERT_LE(difference, is_near_half ? 1 : 0)
            << "kernel " << cases[i].kernel_size << ", sigma " << cases[i].sigma << " of "
            << pictures[n].width << "x" << pictures[n].height << ", value " << at;
      }
    }
  }
  RecordProperty("different", fmt::format("{} of {}", num_different, num_values));
  EXPECT_LT(num_different * 10'000, num_values) << num_different << " of " << num_values;
}

const std::vector<BlurCase>& some_blurs() {
  static const std::vector<BlurCase> list = {{0, 0.1}, {0, 1.2}, {0, 2.6}, {0, 17},  {0, 100},
                                             {1, 1},   {3, 1},   {23, 2},  {255, 60}};
  return list;
}

class GaussianBlurOnEveryTarget : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(GaussianBlurOnEveryTarget);

TEST_P(GaussianBlurOnEveryTarget, GivesTheSamePixels) {
  for (const Picture& picture : blur_pictures()) {
    for (const BlurCase& c : some_blurs()) {
      const auto here = blurred(picture, c).rgb;
      hwy::SetSupportedTargetsForTest(0);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      const auto best = blurred(picture, c).rgb;
      SetUp();
      ASSERT_TRUE(here == best) << c.kernel_size << ", " << c.sigma;
    }
  }
}

TEST(GaussianBlur, NothingBeyondTheImageIsWritten) {
  for (const Picture& picture : blur_pictures()) {
    for (const BlurCase& c : some_blurs()) {
      std::vector<uint8_t> guarded(picture.rgb.size() + 64, 0xAB);
      std::copy(picture.rgb.begin(), picture.rgb.end(), guarded.begin() + 32);
      const RgbImage image{guarded.data() + 32, picture.width, picture.height};
      GaussianBlurrer blurrer;
      if (c.kernel_size == 0) blurrer.blur_as_pillow(image, c.sigma);
      if (c.kernel_size != 0) blurrer.blur_as_torchvision(image, c.kernel_size, c.sigma);
      for (size_t i = 0; i < 32; ++i) {
        ASSERT_EQ(guarded[i], 0xAB);
        ASSERT_EQ(guarded[guarded.size() - 1 - i], 0xAB);
      }
    }
  }
}

// What can be said without Python.
TEST(GaussianBlur, OneColourStaysAndEdgesBecomeSoft) {
  for (const BlurCase& c : some_blurs()) {
    for (const uint8_t value : {0, 1, 127, 255}) {
      const Picture flat{31, 17, std::vector<uint8_t>(3 * 31 * 17, value)};
      EXPECT_EQ(blurred(flat, c).rgb, flat.rgb) << c.kernel_size << ", " << c.sigma;
    }
  }
  Picture edge{40, 3, std::vector<uint8_t>(3 * 40 * 3)};
  for (size_t i = 0; i < edge.rgb.size(); ++i) edge.rgb[i] = i / 3 % 40 < 20 ? 0 : 240;
  for (const int kernel_size : {0, 23}) {
    const auto found = blurred(edge, {kernel_size, 2}).rgb;
    for (size_t x = 1; x < 40; ++x) EXPECT_GE(found[3 * x], found[3 * x - 3]);
    EXPECT_NEAR(found[size_t{3} * 19] + found[size_t{3} * 20], 240, 1);
    // The Gaussian integral at half a pixel and at two and a half.
    EXPECT_NEAR(found[size_t{3} * 20], 240 * 0.5987, 3);
    EXPECT_NEAR(found[size_t{3} * 22], 240 * 0.8944, 3);
  }
  const Picture picture = make_picture(40, 30);
  EXPECT_EQ(blurred(picture, {0, 0}).rgb, picture.rgb);
  EXPECT_EQ(blurred(picture, {1, 2}).rgb, picture.rgb);
}

TEST(GaussianBlur, BuffersOfTheLastPictureDoNotShow) {
  GaussianBlurrer blurrer;
  for (const Picture& picture : blur_pictures()) {
    for (const BlurCase& c : some_blurs()) {
      Picture again = picture;
      const RgbImage image{again.rgb.data(), again.width, again.height};
      if (c.kernel_size == 0) blurrer.blur_as_pillow(image, c.sigma);
      if (c.kernel_size != 0) blurrer.blur_as_torchvision(image, c.kernel_size, c.sigma);
      ASSERT_TRUE(again.rgb == blurred(picture, c).rgb) << c.kernel_size << ", " << c.sigma;
    }
  }
}

}  // namespace
}  // namespace ffkit
