#include "resize.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <random>

#include "test_images.h"

namespace ffkit {
namespace {

using testing::make_picture;
using testing::Picture;

constexpr ImageOutput kU8{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

struct Box {
  double x, y, width, height;
};

// Resizes with Resizer; the picture must have nothing to read behind its end but the slack given here.
std::vector<uint8_t> resize(Picture picture, const Box& box, int width, int height,
                            bool flip = false) {
  AxisFilter filter_x;
  AxisFilter filter_y;
  filter_x.build(picture.width, box.x, box.x + box.width, width, 0, width);
  filter_y.build(picture.height, box.y, box.y + box.height, height, 0, height);
  picture.rgb.resize(picture.rgb.size() + 16);
  const int size = std::max(width, height);
  Resizer resizer(size, kU8);
  std::vector<uint8_t> square(3 * size_t(size) * size_t(size), 7);
  resizer.run(picture.at(filter_x.begin(), filter_y.begin()), 3 * picture.width, filter_x, filter_y,
              flip, 0, 0, square.data());
  std::vector<uint8_t> result;
  for (int y = 0; y < height; ++y) {
    const auto row = square.begin() + 3 * size * y;
    result.insert(result.end(), row, row + 3 * width);
  }
  return result;
}

Box whole(const Picture& picture) {
  return {0, 0, double(picture.width), double(picture.height)};
}

// Pillow's ImagingResample for 8-bit images, written plainly: horizontal pass to 8 bits, then the vertical one.
std::vector<double> pillow_weights(int in_size, double box_begin, double box_end, int out_size,
                                   int i, int& first) {
  const double scale = (box_end - box_begin) / out_size;
  const double support = std::max(scale, 1.0);
  const double center = box_begin + (i + 0.5) * scale;
  first = std::max(0, int(center - support + 0.5));
  const int last = std::min(in_size, int(center + support + 0.5));
  std::vector<double> weights;
  double sum = 0;
  for (int k = first; k < last; ++k) {
    const double distance = std::abs((k - center + 0.5) / support);
    weights.push_back(distance < 1 ? 1 - distance : 0);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<uint8_t> pillow_axis(const std::vector<uint8_t>& in, int lines, int in_size,
                                 int line_step, int step, double box_begin, double box_end,
                                 int out_size, int out_line_step, int out_step) {
  std::vector<uint8_t> out(size_t(lines) * size_t(out_size) * 3);
  for (int i = 0; i < out_size; ++i) {
    int first = 0;
    const auto weights = pillow_weights(in_size, box_begin, box_end, out_size, i, first);
    for (int line = 0; line < lines; ++line) {
      for (int c = 0; c < 3; ++c) {
        int sum = 1 << 21;
        for (size_t k = 0; k < weights.size(); ++k) {
          sum += in[size_t(line * line_step + (first + int(k)) * step + c)] *
                 int(0.5 + weights[k] * (1 << 22));
        }
        out[size_t(line * out_line_step + i * out_step + c)] =
            uint8_t(std::clamp(sum >> 22, 0, 255));
      }
    }
  }
  return out;
}

std::vector<uint8_t> pillow_resize(const Picture& in, const Box& box, int width, int height) {
  const auto narrow = pillow_axis(in.rgb, in.height, in.width, 3 * in.width, 3, box.x,
                                  box.x + box.width, width, 3 * width, 3);
  return pillow_axis(narrow, width, in.height, 3, 3 * width, box.y, box.y + box.height, height, 3,
                     3 * width);
}

// Every instruction set that was compiled in and that this processor has.
class ResizeOnEveryTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<int64_t> targets() {
  std::vector<int64_t> list;
  const int64_t all = hwy::SupportedTargets();
  // Bits without loops of their own fall back to the processor's best, which does no harm.
  for (int bit = 0; bit < 62; ++bit) {
    const int64_t target = int64_t{1} << bit;
    const std::string name = hwy::TargetName(target);
    const bool compiled =
        name == "SSSE3" || name == "SSE4" || name == "AVX2" || name == "AVX3" || name == "NEON";
    if ((all & target) != 0 && compiled) list.push_back(target);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Targets, ResizeOnEveryTarget, ::testing::ValuesIn(targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

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
    ASSERT_EQ(resize(picture, box, width, height), pillow_resize(picture, box, width, height))
        << picture.width << "x" << picture.height << " to " << width << "x" << height;
  }
}

TEST_P(ResizeOnEveryTarget, IsTheIdentityAtTheSameSize) {
  const Picture picture = make_picture(83, 61);
  EXPECT_EQ(resize(picture, whole(picture), 83, 61), picture.rgb);
}

TEST_P(ResizeOnEveryTarget, KeepsAConstantImage) {
  for (int value : {0, 1, 127, 128, 254, 255}) {
    const Picture flat{97, 300, std::vector<uint8_t>(97 * 300 * 3, uint8_t(value))};
    for (const auto& [width, height] : {std::pair(31, 40), std::pair(200, 299), std::pair(1, 7)}) {
      EXPECT_EQ(resize(flat, whole(flat), width, height),
                std::vector<uint8_t>(size_t(width) * size_t(height) * 3, uint8_t(value)));
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

float from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float value = exponent == 0 ? std::ldexp(float(mantissa), -24)
                                    : std::ldexp(float(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// `value` rounded to `bits` significant bits, ties to even.
float round_to_bits(float value, int bits) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, bits - exponent)), exponent - bits);
}

float element(const std::vector<uint8_t>& bytes, size_t i, DType dtype) {
  if (dtype == DType::u8) return bytes[i];
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, &bytes[4 * i], 4);
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, &bytes[2 * i], 2);
  if (dtype == DType::f16) return from_half(bits);
  const uint32_t wide = uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, 4);
  return value;
}

TEST_P(ResizeOnEveryTarget, WritesEveryTypeAndLayout) {
  constexpr size_t kSize = 37;
  Picture picture = make_picture(80, 64);
  AxisFilter filter_x;
  AxisFilter filter_y;
  filter_x.build(80, 0, 80, kSize, 0, kSize);
  filter_y.build(64, 0, 64, kSize, 0, kSize);
  const auto pixels = pillow_resize(picture, whole(picture), kSize, kSize);
  picture.rgb.resize(picture.rgb.size() + 16);
  for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const bool normalize : {false, true}) {
        if (dtype == DType::u8 && normalize) continue;
        const ImageOutput output{.dtype = dtype, .layout = layout, .normalize = normalize};
        Resizer resizer(kSize, output);
        // One element further than aligned, and a guard behind.
        const size_t num_bytes = 3 * kSize * kSize * size_of(dtype);
        std::vector<uint8_t> buffer(size_of(dtype) + num_bytes + 8, 0xAB);
        resizer.run(picture.rgb.data(), 80 * 3, filter_x, filter_y, false, 0, 0,
                    buffer.data() + size_of(dtype));
        for (size_t i = 0; i < 8; ++i) ASSERT_EQ(buffer[size_of(dtype) + num_bytes + i], 0xAB);
        const std::vector<uint8_t> out(buffer.begin() + int(size_of(dtype)), buffer.end());
        for (size_t i = 0; i < kSize * kSize; ++i) {
          for (size_t c = 0; c < 3; ++c) {
            float expected = pixels[3 * i + c];
            if (dtype != DType::u8) expected /= 255;
            if (normalize) expected = (expected - output.mean[c]) / output.std[c];
            const size_t at = layout == Layout::nchw ? c * kSize * kSize + i : 3 * i + c;
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

TEST(Resizer, BlackIsNormalised) {
  Resizer resizer(3, {});
  std::vector<float> out(27, 99);
  resizer.fill_black(out.data());
  const ImageOutput output;
  for (size_t i = 0; i < 27; ++i) {
    EXPECT_FLOAT_EQ(out[i], -output.mean[i / 9] / output.std[i / 9]);
  }
}

}  // namespace
}  // namespace ffkit
