#include "pixels/pixel_ops.h"

#include <hwy/targets.h>

#include "highway_targets.h"
#include "image_prelude.h"
#include "pixels/pixel_kernels.h"
#include "reference_python.h"

namespace ffkit {
namespace {

RgbImage image_of(Picture& picture) {
  return {picture.rgb.data(), picture.width, picture.height};
}

std::vector<uint8_t> scratch_for(const Picture& picture) {
  return std::vector<uint8_t>(picture.rgb.size() + kScratchSlack, 99);
}

// An operation of ours and the same in torchvision, on the PIL image `im`.
struct OpCase {
  std::string python;
  std::function<void(const RgbImage&, uint8_t* scratch)> run;
};

std::vector<OpCase> cases() {
  std::vector<OpCase> list;
  for (const double f : {0.0, 0.1, 0.73, 1.0, 1.27, 1.9, 4.0}) {
    list.push_back({fmt::format("F.adjust_brightness(im, {})", f),
                    [f](const RgbImage& im, uint8_t*) { adjust_brightness(im, f); }});
    list.push_back({fmt::format("F.adjust_contrast(im, {})", f),
                    [f](const RgbImage& im, uint8_t*) { adjust_contrast(im, f); }});
    list.push_back({fmt::format("F.adjust_saturation(im, {})", f),
                    [f](const RgbImage& im, uint8_t*) { adjust_saturation(im, f); }});
    list.push_back({fmt::format("F.adjust_sharpness(im, {})", f),
                    [f](const RgbImage& im, uint8_t* s) { adjust_sharpness(im, f, s); }});
  }
  for (const double f : {-0.5, -0.31, -0.004, 0.0, 0.1, 0.25, 0.4999, 0.5}) {
    list.push_back({fmt::format("F.adjust_hue(im, {})", f),
                    [f](const RgbImage& im, uint8_t*) { adjust_hue(im, f); }});
  }
  for (int bits = 1; bits <= 8; ++bits) {
    list.push_back({fmt::format("F.posterize(im, {})", bits),
                    [bits](const RgbImage& im, uint8_t*) { posterize(im, bits); }});
  }
  for (const double t : {0.0, 0.5, 100.0, 178.5, 255.0, 300.0}) {
    list.push_back({fmt::format("F.solarize(im, {})", t),
                    [t](const RgbImage& im, uint8_t*) { solarize(im, t); }});
  }
  list.push_back({"F.autocontrast(im)", [](const RgbImage& im, uint8_t*) { autocontrast(im); }});
  list.push_back({"F.equalize(im)", [](const RgbImage& im, uint8_t*) { equalize(im); }});
  list.push_back({"F.invert(im)", [](const RgbImage& im, uint8_t*) { invert(im); }});
  list.push_back(
      {"F.rgb_to_grayscale(im, 3)", [](const RgbImage& im, uint8_t*) { grayscale(im); }});
  const RgbColor fill{7, 100, 255};
  for (const int by : {-1000, -40, -1, 0, 3, 12, 1000}) {
    list.push_back(
        {fmt::format("F.affine(im, 0.0, [{}, 0], 1.0, [0.0, 0.0], fill=[7, 100, 255])", by),
         [by, fill](const RgbImage& im, uint8_t* s) { translate(im, by, 0, fill, s); }});
    list.push_back({fmt::format("F.affine(im, 0.0, [0, {}], 1.0, [0.0, 0.0])", by),
                    [by](const RgbImage& im, uint8_t* s) { translate(im, 0, by, {}, s); }});
  }
  for (const double m : {-0.99, -0.3, -0.01, 0.0, 0.09, 0.3, 0.99}) {
    list.push_back({fmt::format("F.affine(im, 0.0, [0, 0], 1.0, [math.degrees(math.atan({})), 0.0],"
                                " fill=[7, 100, 255], center=[0, 0])",
                                m),
                    [m, fill](const RgbImage& im, uint8_t* s) {
                      shear(im, std::atan(m) * (180 / M_PI), 0, fill, s);
                    }});
    list.push_back({fmt::format("F.affine(im, 0.0, [0, 0], 1.0, [0.0, math.degrees(math.atan({}))],"
                                " center=[0, 0])",
                                m),
                    [m](const RgbImage& im, uint8_t* s) {
                      shear(im, 0, std::atan(m) * (180 / M_PI), {}, s);
                    }});
  }
  for (const double a :
       {-135.0, -90.0, -30.0, -4.5, 0.0, 1.0, 9.0, 45.0, 90.0, 117.0, 180.0, 359.9, 360.0, 270.0}) {
    list.push_back({fmt::format("F.rotate(im, {}, fill=[7, 100, 255])", a),
                    [a, fill](const RgbImage& im, uint8_t* s) { rotate(im, a, fill, s); }});
  }
  return list;
}

std::vector<Picture> op_pictures() {
  std::vector<Picture> list;
  for (const auto& [width, height] :
       {std::pair(67, 45), std::pair(64, 64), std::pair(1, 1), std::pair(1, 9), std::pair(9, 1),
        std::pair(3, 3), std::pair(2, 40), std::pair(130, 131)}) {
    list.push_back(make_picture(width, height, unsigned(width)));
  }
  // Few levels, none of them 0 or 255; one level; grey.
  Picture flat = make_picture(40, 30);
  for (uint8_t& value : flat.rgb) value = uint8_t(80 + value % 3);
  list.push_back(flat);
  list.push_back({20, 20, std::vector<uint8_t>(1200, 77)});
  Picture grey = make_picture(33, 34);
  for (size_t i = 0; i < grey.rgb.size(); ++i) grey.rgb[i] = grey.rgb[i / 3 * 3];
  list.push_back(grey);
  return list;
}

TEST(PixelOpsReference, EqualTorchvisionOnPilImages) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  const auto all_cases = cases();
  const auto all_pictures = op_pictures();
  std::string script =
      "import math, numpy as np\n"
      "from PIL import Image\n"
      "from torchvision.transforms.v2 import functional as F\n"
      "def results(im):\n";
  for (const OpCase& c : all_cases) script += "  yield " + c.python + "\n";
  script += fmt::format(
      "for n in range({}):\n"
      "  w, h = np.fromfile(f'size{{n}}', np.int32)\n"
      "  im = Image.fromarray(np.fromfile(f'in{{n}}', np.uint8).reshape(h, w, 3))\n"
      "  np.stack([np.asarray(r) for r in results(im)]).tofile(f'out{{n}}')\n",
      all_pictures.size());
  for (size_t n = 0; n < all_pictures.size(); ++n) {
    const Picture& picture = all_pictures[n];
    testing::write_values(dir / fmt::format("in{}", n), picture.rgb);
    testing::write_values<int32_t>(dir / fmt::format("size{}", n), {picture.width, picture.height});
  }
  ASSERT_TRUE(testing::run_python(script, dir.path()));
  for (size_t n = 0; n < all_pictures.size(); ++n) {
    const auto expected = testing::read_values<uint8_t>(dir / fmt::format("out{}", n));
    const size_t num_bytes = all_pictures[n].rgb.size();
    ASSERT_EQ(expected.size(), num_bytes * all_cases.size());
    for (size_t i = 0; i < all_cases.size(); ++i) {
      Picture picture = all_pictures[n];
      auto scratch = scratch_for(picture);
      all_cases[i].run(image_of(picture), scratch.data());
      const auto begin = expected.begin() + std::ptrdiff_t(i * num_bytes);
      EXPECT_EQ(picture.rgb, std::vector<uint8_t>(begin, begin + std::ptrdiff_t(num_bytes)))
          << all_cases[i].python << " of " << picture.width << "x" << picture.height;
    }
  }
}

// All 2^24 colours, for a shift of each sign.
TEST(PixelOpsReference, HueEqualsPillowsOfEveryColour) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(
      testing::run_python("import numpy as np\n"
                          "from PIL import Image\n"
                          "from torchvision.transforms.v2 import functional as F\n"
                          "i = np.arange(1 << 24, dtype=np.uint32)\n"
                          "im = Image.fromarray(np.stack([i >> 16, i >> 8, i], "
                          "1).astype(np.uint8).reshape(4096, 4096, 3))\n"
                          "for n, f in enumerate([0.13, -0.4]):\n"
                          "  np.asarray(F.adjust_hue(im, f)).tofile(f'out{n}')\n",
                          dir.path()));
  int n = 0;
  for (const double factor : {0.13, -0.4}) {
    Picture colours{4096, 4096, std::vector<uint8_t>(3U << 24)};
    for (uint32_t i = 0; i < 1U << 24; ++i) {
      colours.rgb[3 * i] = uint8_t(i >> 16);
      colours.rgb[3 * i + 1] = uint8_t(i >> 8);
      colours.rgb[3 * i + 2] = uint8_t(i);
    }
    adjust_hue(image_of(colours), factor);
    const auto expected = testing::read_values<uint8_t>(dir / fmt::format("out{}", n++));
    EXPECT_TRUE(colours.rgb == expected) << factor;
  }
}

// Every instruction set gives the pixels that the best one gives, which the tests above compare.
class PixelOpsOnEveryTarget : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(PixelOpsOnEveryTarget);

TEST_P(PixelOpsOnEveryTarget, GivesTheSamePixels) {
  for (const Picture& original : op_pictures()) {
    for (const OpCase& c : cases()) {
      Picture here = original;
      auto scratch = scratch_for(here);
      c.run(image_of(here), scratch.data());
      Picture best = original;
      hwy::SetSupportedTargetsForTest(0);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      c.run(image_of(best), scratch.data());
      SetUp();
      ASSERT_EQ(here.rgb, best.rgb) << c.python;
    }
  }
}

TEST(PixelOps, NothingBeyondTheImageIsWritten) {
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(3, 3), std::pair(17, 5), std::pair(37, 23)}) {
    for (const OpCase& c : cases()) {
      const Picture picture = make_picture(width, height);
      auto scratch = scratch_for(picture);
      std::vector<uint8_t> guarded(picture.rgb.size() + 64, 0xAB);
      std::copy(picture.rgb.begin(), picture.rgb.end(), guarded.begin() + 32);
      c.run({guarded.data() + 32, width, height}, scratch.data());
      for (size_t i = 0; i < 32; ++i) {
        ASSERT_EQ(guarded[i], 0xAB) << c.python;
        ASSERT_EQ(guarded[guarded.size() - 1 - i], 0xAB) << c.python;
      }
    }
  }
}

// What can be said without torchvision.
TEST(PixelOps, NeutralParametersChangeNothing) {
  for (const Picture& original : op_pictures()) {
    Picture picture = original;
    auto scratch = scratch_for(picture);
    const RgbImage image = image_of(picture);
    adjust_brightness(image, 1);
    adjust_contrast(image, 1);
    adjust_saturation(image, 1);
    adjust_sharpness(image, 1, scratch.data());
    posterize(image, 8);
    solarize(image, 256);
    translate(image, 0, 0, {}, scratch.data());
    shear(image, 0, 0, {}, scratch.data());
    rotate(image, 720, {}, scratch.data());
    invert(image);
    invert(image);
    EXPECT_EQ(picture.rgb, original.rgb);
  }
}

TEST(PixelOps, ExtremesAreWhatTheyAreCalled) {
  Picture picture = make_picture(50, 41);
  auto scratch = scratch_for(picture);
  adjust_saturation(image_of(picture), 0);
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    ASSERT_EQ(picture.rgb[i], picture.rgb[i + 1]);
    ASSERT_EQ(picture.rgb[i], picture.rgb[i + 2]);
  }
  autocontrast(image_of(picture));
  EXPECT_EQ(*std::min_element(picture.rgb.begin(), picture.rgb.end()), 0);
  EXPECT_EQ(*std::max_element(picture.rgb.begin(), picture.rgb.end()), 255);
  adjust_contrast(image_of(picture), 0);
  EXPECT_EQ(picture.rgb, std::vector<uint8_t>(picture.rgb.size(), picture.rgb[0]));
  adjust_brightness(image_of(picture), 0);
  EXPECT_EQ(picture.rgb, std::vector<uint8_t>(picture.rgb.size(), 0));
  rotate(image_of(picture), 45, {1, 2, 3}, scratch.data());
  EXPECT_EQ(picture.rgb[0], 1);
  EXPECT_EQ(picture.rgb[1], 2);
  EXPECT_EQ(picture.rgb[2], 3);
}

// Where each pixel comes from, without torchvision.
TEST(PixelOps, TranslationsAndHalfTurnsMovePixels) {
  const Picture original = make_picture(37, 20);
  const auto pixel = [&original](int x, int y) {
    const size_t at = 3 * (static_cast<size_t>(y) * 37 + static_cast<size_t>(x));
    return std::vector<int>(original.rgb.begin() + static_cast<ptrdiff_t>(at),
                            original.rgb.begin() + static_cast<ptrdiff_t>(at) + 3);
  };
  const std::vector<int> fill = {1, 2, 3};
  const auto expect_moved = [&](const Picture& picture, const auto& from_x, const auto& from_y) {
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 37; ++x) {
        const int left = from_x(x);
        const int top = from_y(y);
        const bool is_inside = left >= 0 && left < 37 && top >= 0 && top < 20;
        const auto* found = picture.rgb.data() + 3 * (y * 37 + x);
        ASSERT_EQ(std::vector<int>(found, found + 3), is_inside ? pixel(left, top) : fill)
            << x << ", " << y;
      }
    }
  };
  for (const auto& [dx, dy] : {std::pair(5, 3), std::pair(-5, 3), std::pair(5, -3)}) {
    Picture picture = original;
    auto scratch = scratch_for(picture);
    translate(image_of(picture), dx, dy, {1, 2, 3}, scratch.data());
    expect_moved(
        picture, [dx](int x) { return x - dx; }, [dy](int y) { return y - dy; });
  }
  Picture picture = original;
  auto scratch = scratch_for(picture);
  rotate(image_of(picture), 180, {1, 2, 3}, scratch.data());
  expect_moved(
      picture, [](int x) { return 36 - x; }, [](int y) { return 19 - y; });
}

// By a tangent of 1/2: pixel (x, y) is the one at (x + (y + 1/2) / 2, y), or at (x, y + (x + 1/2) /
// 2).
TEST(PixelOps, ShearsMoveRowsOrColumns) {
  const double degrees = std::atan(0.5) * 180 / std::numbers::pi;
  const Picture original = make_picture(24, 17);
  for (const bool is_of_rows : {true, false}) {
    Picture picture = original;
    auto scratch = scratch_for(picture);
    shear(image_of(picture), is_of_rows ? degrees : 0, is_of_rows ? 0 : degrees, {1, 2, 3},
          scratch.data());
    for (int y = 0; y < 17; ++y) {
      for (int x = 0; x < 24; ++x) {
        const int left = is_of_rows ? static_cast<int>(x + 0.75 + 0.5 * y) : x;
        const int top = is_of_rows ? y : static_cast<int>(y + 0.75 + 0.5 * x);
        const auto* found = picture.rgb.data() + 3 * (y * 24 + x);
        const auto* wanted = original.rgb.data() + 3 * (top * 24 + left);
        const std::vector<int> pixel = left < 24 && top < 17 ? std::vector<int>(wanted, wanted + 3)
                                                             : std::vector<int>{1, 2, 3};
        ASSERT_EQ(std::vector<int>(found, found + 3), pixel) << x << ", " << y;
      }
    }
  }
}

TEST(PixelOps, EqualizeIsPillowsTable) {
  // 0 .. 127, eight pixels of each: step is (1024 - 8) / 255 = 3.
  Picture picture{128, 8, std::vector<uint8_t>(size_t{128} * 8 * 3)};
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb[i] = static_cast<uint8_t>(i / 3 % 128);
  }
  equalize(image_of(picture));
  for (int value = 0; value < 128; ++value) {
    EXPECT_EQ(picture.rgb[3 * static_cast<size_t>(value)], std::min((1 + 8 * value) / 3, 255));
  }
}

TEST(PixelOps, ContrastOfALargeImageIsAboutTheMeanOfAllOfIt) {
  Picture picture{4096, 2049, std::vector<uint8_t>(size_t{4096} * 2049 * 3)};
  std::fill(picture.rgb.begin() + size_t{4096} * 1024 * 3, picture.rgb.end(), 200);
  adjust_contrast(image_of(picture), 0);
  EXPECT_EQ(picture.rgb.front(), 100);
  EXPECT_EQ(picture.rgb.back(), 100);
}

// For UBSan: no null pointer is moved.
TEST(WritePixels, AnEmptyPictureNeedsNoMemory) {
  for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const size_t width : {0, 4}) {
        WriteJob job{};
        job.width = width;
        job.height = width == 0 ? 3 : 0;
        job.stride = 12;
        job.layout = layout;
        job.dtype = dtype;
        job.out_stride_bytes = 16;
        job.plane_values = 4;
        write_pixels(job);
        EXPECT_EQ(job.out, nullptr);
      }
    }
  }
}

}  // namespace
}  // namespace ffkit
