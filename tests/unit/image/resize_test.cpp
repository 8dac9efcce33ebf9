#include "elements.h"
#include "highway_targets.h"
#include "image_prelude.h"
#include "reference_python.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

using testing::element;
using testing::round_to_bits;

constexpr ImageOutput kU8{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

struct Box {
  double x, y, width, height;
};

// Resizes with Resizer; the picture must have nothing to read behind its end but the slack given
// here.
std::vector<uint8_t> resize(Picture picture, const Box& box, int width, int height,
                            bool flip = false,
                            Interpolation interpolation = Interpolation::bilinear,
                            bool vertical_first = false) {
  AxisFilter filter_x;
  AxisFilter filter_y;
  filter_x.build(picture.width, box.x, box.x + box.width, width, 0, width, interpolation);
  filter_y.build(picture.height, box.y, box.y + box.height, height, 0, height, interpolation);
  picture.rgb.resize(picture.rgb.size() + 16);
  Resizer resizer({height, width}, kU8);
  std::vector<uint8_t> result(3 * size_t(width) * size_t(height), 7);
  resizer.run(picture.at(filter_x.begin(), filter_y.begin()), 3 * picture.width, filter_x, filter_y,
              flip, 0, 0, result.data(), vertical_first);
  return result;
}

Box whole(const Picture& picture) {
  return {0, 0, double(picture.width), double(picture.height)};
}

// Pillow's ImagingResample for 8-bit images, written plainly: horizontal pass to 8 bits, then the
// vertical one.
double pillow_filter(double x, Interpolation interpolation) {
  constexpr double kA = -0.5;
  if (interpolation == Interpolation::bilinear) return x < 1 ? 1 - x : 0;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

std::vector<double> pillow_weights(int in_size, double box_begin, double box_end, int out_size,
                                   int i, Interpolation interpolation, int& first) {
  const double scale = (box_end - box_begin) / out_size;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale * (interpolation == Interpolation::bicubic ? 2 : 1);
  const double center = box_begin + (i + 0.5) * scale;
  first = std::max(0, int(center - support + 0.5));
  const int last = std::min(in_size, int(center + support + 0.5));
  std::vector<double> weights;
  double sum = 0;
  for (int k = first; k < last; ++k) {
    weights.push_back(pillow_filter(std::abs((k - center + 0.5) / filter_scale), interpolation));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<uint8_t> pillow_axis(const std::vector<uint8_t>& in, int lines, int in_size,
                                 int line_step, int step, double box_begin, double box_end,
                                 int out_size, int out_line_step, int out_step,
                                 Interpolation interpolation) {
  std::vector<uint8_t> out(size_t(lines) * size_t(out_size) * 3);
  for (int i = 0; i < out_size; ++i) {
    int first = 0;
    const auto weights =
        pillow_weights(in_size, box_begin, box_end, out_size, i, interpolation, first);
    for (int line = 0; line < lines; ++line) {
      for (int c = 0; c < 3; ++c) {
        int sum = 1 << 21;
        for (size_t k = 0; k < weights.size(); ++k) {
          sum += in[size_t(line * line_step + (first + int(k)) * step + c)] *
                 int(std::copysign(0.5, weights[k]) + weights[k] * (1 << 22));
        }
        out[size_t(line * out_line_step + i * out_step + c)] =
            uint8_t(std::clamp(sum >> 22, 0, 255));
      }
    }
  }
  return out;
}

std::vector<uint8_t> pillow_resize(const Picture& in, const Box& box, int width, int height,
                                   Interpolation interpolation = Interpolation::bilinear,
                                   bool vertical_first = false) {
  if (vertical_first) {
    const auto low = pillow_axis(in.rgb, in.width, in.height, 3, 3 * in.width, box.y,
                                 box.y + box.height, height, 3, 3 * in.width, interpolation);
    return pillow_axis(low, height, in.width, 3 * in.width, 3, box.x, box.x + box.width, width,
                       3 * width, 3, interpolation);
  }
  const auto narrow = pillow_axis(in.rgb, in.height, in.width, 3 * in.width, 3, box.x,
                                  box.x + box.width, width, 3 * width, 3, interpolation);
  return pillow_axis(narrow, width, in.height, 3, 3 * width, box.y, box.y + box.height, height, 3,
                     3 * width, interpolation);
}

class ResizeOnEveryTarget : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(ResizeOnEveryTarget);

Picture formula_picture(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        picture.rgb.push_back(uint8_t((x * 37 + y * 91 + c * 53 + x * y * 7) % 256));
      }
    }
  }
  return picture;
}

// Results of Pillow 13.0's Image.resize(size, BILINEAR, box).
TEST_P(ResizeOnEveryTarget, EqualsPillowsOwnResults) {
  EXPECT_EQ(resize(formula_picture(7, 5), {0, 0, 7, 5}, 4, 3),
            (std::vector<uint8_t>{60,  113, 161, 122, 145, 141, 117, 139, 163, 149, 125, 115,
                                  145, 137, 113, 117, 126, 134, 130, 138, 147, 151, 127, 119,
                                  101, 147, 138, 157, 134, 127, 144, 140, 133, 158, 129, 119}));
  EXPECT_EQ(resize(formula_picture(3, 2), {0, 0, 3, 2}, 5, 4),
            (std::vector<uint8_t>{0,   53,  106, 15,  68,  121, 37,  90,  143, 59,  112, 165,
                                  74,  127, 180, 23,  76,  129, 39,  92,  145, 62,  115, 168,
                                  85,  138, 152, 100, 153, 142, 68,  121, 174, 86,  139, 192,
                                  111, 164, 217, 136, 189, 127, 153, 206, 67,  91,  144, 197,
                                  109, 162, 215, 135, 188, 241, 161, 214, 114, 179, 232, 29}));
  EXPECT_EQ(resize(formula_picture(40, 30), {0, 0, 40, 30}, 3, 2),
            (std::vector<uint8_t>{127, 130, 128, 127, 128, 127, 126, 127, 128, 125, 131, 128, 127,
                                  132, 126, 129, 131, 124}));
  EXPECT_EQ(resize(formula_picture(9, 8), {1, 2, 7, 5}, 4, 4),
            (std::vector<uint8_t>{132, 103, 125, 115, 141, 159, 154, 155, 116, 125, 104, 120,
                                  132, 144, 143, 157, 147, 122, 141, 130, 127, 143, 137, 117,
                                  118, 131, 110, 139, 129, 104, 138, 127, 124, 135, 148, 129,
                                  116, 160, 137, 99,  130, 116, 150, 145, 106, 150, 128, 125}));
  EXPECT_EQ(
      resize(formula_picture(12, 9), {1.5, 0.25, 9.25, 8.25}, 3, 3),
      (std::vector<uint8_t>{123, 133, 140, 126, 130, 135, 121, 127, 134, 133, 137, 124, 143, 133,
                            122, 130, 132, 121, 124, 124, 134, 132, 124, 125, 129, 119, 126}));
}

// Results of Pillow 13.0's Image.resize(size, BICUBIC, box); some sums are below 0 and above 255.
TEST_P(ResizeOnEveryTarget, BicubicEqualsPillowsOwnResults) {
  const auto bicubic = [](const Picture& picture, const Box& box, int width, int height) {
    return resize(picture, box, width, height, false, Interpolation::bicubic);
  };
  EXPECT_EQ(bicubic(formula_picture(7, 5), {0, 0, 7, 5}, 4, 3),
            (std::vector<uint8_t>{56,  113, 163, 127, 143, 139, 113, 140, 167, 151, 125, 110,
                                  150, 137, 113, 117, 126, 135, 130, 135, 143, 146, 127, 123,
                                  99,  147, 136, 159, 133, 127, 143, 144, 134, 161, 128, 117}));
  EXPECT_EQ(bicubic(formula_picture(3, 2), {0, 0, 3, 2}, 5, 4),
            (std::vector<uint8_t>{0,   42,  95,  3,   56,  108, 28,  81,  134, 54,  107, 175,
                                  68,  121, 198, 18,  69,  122, 30,  83,  139, 57,  110, 163,
                                  84,  137, 156, 99,  152, 148, 70,  122, 175, 85,  138, 200,
                                  115, 168, 221, 145, 198, 118, 160, 213, 48,  96,  149, 202,
                                  112, 165, 231, 144, 197, 250, 175, 228, 99,  191, 244, 0}));
  EXPECT_EQ(bicubic(formula_picture(40, 30), {0, 0, 40, 30}, 3, 2),
            (std::vector<uint8_t>{127, 130, 127, 127, 127, 127, 126, 127, 128, 125, 131, 128, 127,
                                  133, 126, 129, 131, 123}));
  EXPECT_EQ(bicubic(formula_picture(9, 8), {1, 2, 7, 5}, 4, 4),
            (std::vector<uint8_t>{131, 91,  123, 107, 147, 168, 163, 159, 115, 123, 97,  115,
                                  135, 151, 146, 164, 148, 122, 141, 128, 130, 141, 140, 115,
                                  115, 126, 105, 141, 125, 103, 139, 125, 126, 137, 153, 129,
                                  116, 169, 140, 92,  130, 112, 153, 145, 105, 154, 127, 127}));
}

TEST_P(ResizeOnEveryTarget, EqualsPillowsAlgorithmForAllSizes) {
  std::mt19937 random(11);
  const auto draw = [&](int low, int high) {
    return low + int(random() % unsigned(high - low + 1));
  };
  for (int i = 0; i < 60; ++i) {
    const Picture picture = make_picture(draw(1, 150), draw(1, 150), unsigned(i));
    const Box box = i % 3 == 0 ? whole(picture)
                               : Box{picture.width * 0.125, picture.height * 0.0625,
                                     picture.width * 0.75, picture.height * 0.6875};
    const int width = draw(1, 90);
    const int height = draw(1, 90);
    for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
      for (const bool vertical_first : {false, true}) {
        ASSERT_EQ(resize(picture, box, width, height, false, filter, vertical_first),
                  pillow_resize(picture, box, width, height, filter, vertical_first))
            << picture.width << "x" << picture.height << " to " << width << "x" << height;
      }
    }
  }
}

TEST_P(ResizeOnEveryTarget, IsTheIdentityAtTheSameSize) {
  const Picture picture = make_picture(83, 61);
  EXPECT_EQ(resize(picture, whole(picture), 83, 61), picture.rgb);
  EXPECT_EQ(resize(picture, whole(picture), 83, 61, false, Interpolation::bicubic), picture.rgb);
}

TEST_P(ResizeOnEveryTarget, KeepsAConstantImage) {
  for (int value : {0, 1, 127, 128, 254, 255}) {
    const Picture flat{97, 300, std::vector<uint8_t>(97 * 300 * 3, uint8_t(value))};
    for (const auto& [width, height] : {std::pair(31, 40), std::pair(200, 299), std::pair(1, 7)}) {
      for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
        EXPECT_EQ(resize(flat, whole(flat), width, height, false, filter),
                  std::vector<uint8_t>(size_t(width) * size_t(height) * 3, uint8_t(value)));
      }
    }
  }
}

TEST_P(ResizeOnEveryTarget, FlipMirrors) {
  const Picture picture = make_picture(75, 40);
  const Picture plain{33, 29, resize(picture, whole(picture), 33, 29)};
  const Picture flipped{33, 29, resize(picture, whole(picture), 33, 29, true)};
  for (int y = 0; y < 29; ++y) {
    for (int x = 0; x < 33; ++x) {
      ASSERT_EQ(std::memcmp(plain.at(x, y), flipped.at(32 - x, y), 3), 0) << x << "," << y;
    }
  }
}

TEST_P(ResizeOnEveryTarget, WritesEveryTypeAndLayout) {
  constexpr size_t kWidth = 37;
  constexpr size_t kHeight = 45;
  constexpr size_t kArea = kWidth * kHeight;
  // Black and white noise, enlarged: bicubic sums are far below 0 and above 255.
  Picture picture = make_picture(20, 24);
  for (uint8_t& value : picture.rgb) value = value % 7 < 3 ? 255 : 0;
  AxisFilter filter_x;
  AxisFilter filter_y;
  filter_x.build(20, 0, 20, kWidth, 0, kWidth, Interpolation::bicubic);
  filter_y.build(24, 0, 24, kHeight, 0, kHeight, Interpolation::bicubic);
  const auto pixels =
      pillow_resize(picture, whole(picture), kWidth, kHeight, Interpolation::bicubic);
  picture.rgb.resize(picture.rgb.size() + 16);
  for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const bool normalize : {false, true}) {
        if (dtype == DType::u8 && normalize) continue;
        const ImageOutput output{.dtype = dtype, .layout = layout, .normalize = normalize};
        Resizer resizer({kHeight, kWidth}, output);
        // One element further than aligned, and a guard behind.
        const size_t num_bytes = 3 * kArea * size_of(dtype);
        std::vector<uint8_t> buffer(size_of(dtype) + num_bytes + 8, 0xAB);
        resizer.run(picture.rgb.data(), 20 * 3, filter_x, filter_y, false, 0, 0,
                    buffer.data() + size_of(dtype));
        for (size_t i = 0; i < 8; ++i) ASSERT_EQ(buffer[size_of(dtype) + num_bytes + i], 0xAB);
        const std::vector<uint8_t> out(buffer.begin() + int(size_of(dtype)), buffer.end());
        for (size_t i = 0; i < kArea; ++i) {
          for (size_t c = 0; c < 3; ++c) {
            float expected = pixels[3 * i + c];
            if (dtype != DType::u8) expected /= 255;
            if (normalize) expected = (expected - output.mean[c]) / output.std[c];
            const size_t at = layout == Layout::nchw ? c * kArea + i : 3 * i + c;
            const float got = element(out, at, dtype);
            // f32 is exact but for the order of operations; the others are that value, rounded.
            const float tolerance = dtype == DType::u8 ? 0 : 4e-7F;
            const int bits = dtype == DType::f16 ? 11 : dtype == DType::bf16 ? 8 : 24;
            const float low = round_to_bits(expected - tolerance, bits);
            const float high = round_to_bits(expected + tolerance, bits);
            ASSERT_GE(got, low) << to_string(dtype) << " pixel " << i << " channel " << c;
            ASSERT_LE(got, high) << to_string(dtype) << " pixel " << i << " channel " << c;
          }
        }
      }
    }
  }
}

TEST(AxisFilter, APartOfTheOutputsIsThatPartOfAll) {
  AxisFilter all;
  AxisFilter part;
  all.build(500, 0, 500, 341, 0, 341);
  part.build(500, 0, 500, 341, 58, 224);
  ASSERT_EQ(part.num_outputs(), 224);
  EXPECT_EQ(all.begin(), 0);
  EXPECT_EQ(all.end(), 500);
  EXPECT_GT(part.begin(), 80);
  EXPECT_LT(part.end(), 420);
  for (int i = 0; i < 224; ++i) {
    const auto& a = all.taps(58 + i);
    const auto& p = part.taps(i);
    ASSERT_EQ(a.first, part.begin() + p.first);
    ASSERT_EQ(a.count, p.count);
    ASSERT_EQ(std::memcmp(a.weights, p.weights, sizeof(int32_t) * size_t(a.count)), 0);
    ASSERT_LE(part.begin() + p.first + p.count, part.end());
  }
}

TEST(Resizer, PlacesAPartAndLeavesTheRest) {
  Picture picture = make_picture(20, 20);
  picture.rgb.resize(picture.rgb.size() + 16);
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    const ImageOutput output{.dtype = DType::u8, .layout = layout, .normalize = false};
    Resizer resizer(32, output);
    AxisFilter filter;
    filter.build(20, 0, 20, 20, 0, 20);
    std::vector<uint8_t> out(32 * 32 * 3, 9);
    resizer.run(picture.rgb.data(), 60, filter, filter, false, 5, 7, out.data());
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        for (int c = 0; c < 3; ++c) {
          const bool inside = x >= 5 && x < 25 && y >= 7 && y < 27;
          const int expected = inside ? picture.at(x - 5, y - 7)[c] : 9;
          const int at = layout == Layout::nchw ? (c * 32 + y) * 32 + x : (y * 32 + x) * 3 + c;
          ASSERT_EQ(out[size_t(at)], expected) << x << "," << y << "," << c;
        }
      }
    }
  }
}

// Which order Pillow takes is seen in its results.
TEST(Resizer, EqualsPillowOfTheReferencePythonForAllSizes) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(testing::run_python(
      "import numpy as np, random\n"
      "from PIL import Image, __version__\n"
      "random.seed(4)\n"
      "np.random.seed(4)\n"
      "sizes, pixels, results = [], [], []\n"
      "for i in range(400):\n"
      "  w, h, ow, oh = (random.randint(1, 70) for _ in range(4))\n"
      "  if i % 2: h = max(1, oh + 2 * (w - ow) + random.randint(-2, 2))\n"
      "  a = np.random.randint(0, 2, (h, w, 3), dtype=np.uint8) * 255\n"
      "  sizes += [w, h, ow, oh]\n"
      "  pixels.append(a.ravel())\n"
      "  for f in (Image.BILINEAR, Image.BICUBIC):\n"
      "    results.append(np.asarray(Image.fromarray(a).resize((ow, oh), f)).ravel())\n"
      "sizes.append(int(__version__.split('.')[0]))\n"
      "np.array(sizes, np.int32).tofile('sizes')\n"
      "np.concatenate(pixels).tofile('pixels')\n"
      "np.concatenate(results).tofile('results')\n",
      dir.path()));
  const auto sizes = testing::read_values<int32_t>(dir / "sizes");
  if (sizes.back() < 13) GTEST_SKIP() << "Pillow " << sizes.back() << " is older than 13";
  const auto pixels = testing::read_values<uint8_t>(dir / "pixels");
  const auto results = testing::read_values<uint8_t>(dir / "results");
  auto pixel = pixels.begin();
  auto result = results.begin();
  for (size_t i = 0; i + 4 < sizes.size(); i += 4) {
    Picture picture{sizes[i], sizes[i + 1], {}};
    const std::ptrdiff_t num_bytes = std::ptrdiff_t{3} * picture.width * picture.height;
    picture.rgb.assign(pixel, pixel + num_bytes);
    pixel += num_bytes;
    const int width = sizes[i + 2];
    const int height = sizes[i + 3];
    for (const auto filter : {Interpolation::bilinear, Interpolation::bicubic}) {
      const std::vector<uint8_t> expected(result, result + std::ptrdiff_t{3} * width * height);
      result += std::ptrdiff_t{3} * width * height;
      ASSERT_EQ(resize(picture, whole(picture), width, height, false, filter,
                       is_vertical_first(picture.width, picture.height, width, height)),
                expected)
          << picture.width << "x" << picture.height << " to " << width << "x" << height;
    }
  }
}

TEST(Resizer, BlackIsNormalised) {
  Resizer resizer(3, {});
  std::vector<float> out(27, 99);
  resizer.fill({0, 0, 0}, out.data());
  const ImageOutput output;
  for (size_t i = 0; i < 27; ++i) {
    EXPECT_FLOAT_EQ(out[i], -output.mean[i / 9] / output.std[i / 9]);
  }
}

}  // namespace
}  // namespace ffkit
