#include "image_prelude.h"
#include "pixels/pixel_ops.h"
#include "random_numbers/random_streams.h"
#include "reference_python.h"
#include "transform/augmenter.h"

namespace ffkit {
namespace {

constexpr const char* kNames[kNumAugmentOps] = {
    "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
    "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};

AugmentOp op_number(int i) {
  return static_cast<AugmentOp>(i);
}

bool is_truncated(AugmentOp op) {
  return op == AugmentOp::translate_x || op == AugmentOp::translate_y || op == AugmentOp::posterize;
}

TEST(AutoAugmentReference, MagnitudesAreTorchvisions) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  const std::vector<int> bins = {2, 10, 11, 31, 100};
  const std::vector<ImageSize> sizes = {{224, 224}, {32, 48}, {331, 662}};
  ASSERT_TRUE(
      testing::run_python("import numpy as np\n"
                          "from torchvision.transforms import v2\n"
                          "out = []\n"
                          "for t in (v2.RandAugment, v2.TrivialAugmentWide):\n"
                          "  assert len(t._AUGMENTATION_SPACE) == 14\n"
                          "  for h, w in ((224, 224), (32, 48), (331, 662)):\n"
                          "    for n in (2, 10, 11, 31, 100):\n"
                          "      for name, (f, signed) in t._AUGMENTATION_SPACE.items():\n"
                          "        m = f(n, h, w)\n"
                          "        out += [0.0] * n if m is None else [float(v) for v in m]\n"
                          "np.array(out).tofile('magnitudes')\n"
                          "names = list(v2.RandAugment._AUGMENTATION_SPACE)\n"
                          "assert names == list(v2.TrivialAugmentWide._AUGMENTATION_SPACE)\n"
                          "open('names', 'w').write(' '.join(names))\n",
                          dir.path()));
  const auto expected = testing::read_values<double>(dir / "magnitudes");
  size_t at = 0;
  for (const bool is_trivial : {false, true}) {
    for (const ImageSize size : sizes) {
      for (const int num_bins : bins) {
        for (int i = 0; i < kNumAugmentOps; ++i) {
          for (int bin = 0; bin < num_bins; ++bin, ++at) {
            const AugmentOp op = op_number(i);
            const double got = is_trivial ? trivial_augment_magnitude(op, bin, num_bins)
                                          : rand_augment_magnitude(op, bin, num_bins, size);
            ASSERT_LT(at, expected.size());
            // torch itself differs in the last bit of an f32 between processors.
            ASSERT_NEAR(got, expected[at], 1e-6 * std::abs(expected[at]) + 1e-9)
                << kNames[i] << " " << bin << "/" << num_bins;
            if (is_truncated(op)) {
              ASSERT_EQ(int(got), int(expected[at])) << kNames[i] << " " << bin << "/" << num_bins;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(at, expected.size());
  std::string names;
  for (const char* name : kNames) names += std::string(names.empty() ? "" : " ") + name;
  const auto read = testing::read_values<char>(dir / "names");
  EXPECT_EQ(std::string(read.begin(), read.end()), names);
}

// Some magnitudes of the paper's settings, for where there is no torchvision.
TEST(AutoAugment, KnownMagnitudes) {
  const ImageSize size = 224;
  EXPECT_FLOAT_EQ(float(rand_augment_magnitude(AugmentOp::shear_x, 9, 31, size)), 0.09F);
  EXPECT_FLOAT_EQ(float(rand_augment_magnitude(AugmentOp::translate_y, 9, 31, size)), 30.453173F);
  EXPECT_FLOAT_EQ(float(rand_augment_magnitude(AugmentOp::rotate, 9, 31, size)), 9);
  EXPECT_FLOAT_EQ(float(rand_augment_magnitude(AugmentOp::color, 9, 31, size)), 0.27F);
  EXPECT_EQ(rand_augment_magnitude(AugmentOp::posterize, 9, 31, size), 7);
  EXPECT_FLOAT_EQ(float(rand_augment_magnitude(AugmentOp::solarize, 9, 31, size)), 0.7F);
  EXPECT_EQ(trivial_augment_magnitude(AugmentOp::rotate, 30, 31), 135);
  EXPECT_EQ(trivial_augment_magnitude(AugmentOp::rotate, 20, 31), 90);
  EXPECT_EQ(trivial_augment_magnitude(AugmentOp::posterize, 30, 31), 2);
  EXPECT_EQ(trivial_augment_magnitude(AugmentOp::equalize, 30, 31), 0);
}

TEST(AutoAugmentReference, PoliciesAreTorchvisions) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(testing::run_python(
      "import numpy as np\n"
      "from torchvision.transforms import v2, AutoAugmentPolicy as P\n"
      "names = [*v2.RandAugment._AUGMENTATION_SPACE, 'Invert']\n"
      "out = [[names.index(op), p, m or 0] for policy in (P.IMAGENET, P.CIFAR10, P.SVHN)\n"
      "       for pair in v2.AutoAugment(policy)._policies for op, p, m in pair]\n"
      "np.array(out).tofile('policies')\n",
      dir.path()));
  std::vector<double> policies;
  for (const auto& policy : {kImagenetPolicy, kCifar10Policy, kSvhnPolicy}) {
    for (const SubPolicy& pair : policy) {
      for (const auto& [op, probability, bin] : pair) {
        policies.insert(policies.end(),
                        {static_cast<double>(op), probability, static_cast<double>(bin)});
      }
    }
  }
  EXPECT_EQ(policies, testing::read_values<double>(dir / "policies"));
}

TEST(AutoAugment, DrawsEveryPairWithItsProbabilities) {
  constexpr int kNumDraws = 50'000;
  std::map<std::pair<AugmentOp, AugmentOp>, int> drawn;
  int num_negative = 0;
  int num_signed = 0;
  for (int i = 0; i < kNumDraws; ++i) {
    CounterRandom random({.record_index = i});
    const auto [first, second] = draw_ops(AutoAugment{}, 224, random);
    ++drawn[{first.op, second.op}];
    if (first.op == AugmentOp::rotate) {
      ++num_signed;
      num_negative += first.magnitude < 0 ? 1 : 0;
    }
  }
  std::map<std::pair<AugmentOp, AugmentOp>, double> expected;
  for (const auto& [a, b] : kImagenetPolicy) {
    for (const bool has_a : {false, true}) {
      for (const bool has_b : {false, true}) {
        expected[{has_a ? a.op : AugmentOp::identity, has_b ? b.op : AugmentOp::identity}] +=
            (has_a ? a.probability : 1 - a.probability) *
            (has_b ? b.probability : 1 - b.probability) / 25;
      }
    }
  }
  for (const auto& [pair, share] : expected) {
    EXPECT_NEAR(drawn[pair] / static_cast<double>(kNumDraws), share, 0.005);
  }
  EXPECT_NEAR(num_negative / static_cast<double>(num_signed), 0.5, 0.03);
}

// Every operation in turn, with a magnitude of either sign, as torchvision applies it.
TEST(AutoAugmentReference, OperationsAreTorchvisions) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  const Picture picture = make_picture(61, 47);
  testing::write_values(dir / "in", picture.rgb);
  ASSERT_TRUE(testing::run_python(
      "import numpy as np\n"
      "from PIL import Image\n"
      "from torchvision.transforms import v2\n"
      "im = Image.fromarray(np.fromfile('in', np.uint8).reshape(47, 61, 3))\n"
      "out = []\n"
      "for fill in (None, [7, 100, 255]):\n"
      "  t = v2.RandAugment(fill=fill)\n"
      "  for name, (f, signed) in t._AUGMENTATION_SPACE.items():\n"
      "    m = f(31, 47, 61)\n"
      "    m = 0.0 if m is None else float(m[23])\n"
      "    for sign in (1, -1) if signed else (1,):\n"
      "      r = t._apply_image_or_video_transform(im, name, m * sign, t.interpolation, t._fill)\n"
      "      out.append(np.asarray(r))\n"
      "np.stack(out).tofile('out')\n",
      dir.path()));
  const auto expected = testing::read_values<uint8_t>(dir / "out");
  size_t at = 0;
  for (const RgbColor fill : {RgbColor{0, 0, 0}, RgbColor{7, 100, 255}}) {
    for (int i = 0; i < kNumAugmentOps; ++i) {
      const AugmentOp op = op_number(i);
      const bool is_signed = i >= 1 && i <= 9;
      for (const double sign : {1.0, -1.0}) {
        if (sign < 0 && !is_signed) continue;
        Picture changed = picture;
        std::vector<uint8_t> scratch(changed.rgb.size() + kScratchSlack);
        apply_op({changed.rgb.data(), 61, 47},
                 {op, sign * rand_augment_magnitude(op, 23, 31, {47, 61})}, fill, scratch.data());
        ASSERT_LE(at + changed.rgb.size(), expected.size());
        const auto begin = expected.begin() + std::ptrdiff_t(at);
        at += changed.rgb.size();
        EXPECT_EQ(changed.rgb, std::vector<uint8_t>(begin, expected.begin() + std::ptrdiff_t(at)))
            << kNames[i] << " " << sign;
      }
    }
  }
  EXPECT_EQ(at, expected.size());
}

TEST(AutoAugment, RandAugmentDrawsOperationsAndSignsAlike) {
  constexpr int kDraws = 28000;
  std::map<AugmentOp, int> counts;
  std::map<AugmentOp, int> negative;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({5, 0, i}, augmentation_stream(1, 0));
    const DrawnOp drawn = draw_op(RandAugment{.magnitude = 12}, 224, random);
    ++counts[drawn.op];
    negative[drawn.op] += drawn.magnitude < 0 ? 1 : 0;
    ASSERT_EQ(std::abs(drawn.magnitude), rand_augment_magnitude(drawn.op, 12, 31, 224));
  }
  for (int i = 0; i < kNumAugmentOps; ++i) {
    const int count = counts[op_number(i)];
    // Five standard deviations of binomial counts with p = 1/14 and, of 2000, 1/2.
    EXPECT_NEAR(count, kDraws / kNumAugmentOps, 216) << kNames[i];
    if (i >= 1 && i <= 9) {
      EXPECT_NEAR(negative[op_number(i)], count / 2, 120) << kNames[i];
    } else {
      EXPECT_EQ(negative[op_number(i)], 0) << kNames[i];
    }
  }
}

TEST(AutoAugment, TrivialAugmentDrawsOperationsAndMagnitudesAlike) {
  constexpr int kDraws = 28000;
  std::map<AugmentOp, int> counts;
  std::map<double, int> rotations;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({5, 0, i}, augmentation_stream(2, 0));
    const DrawnOp drawn = draw_op(TrivialAugmentWide{.num_magnitude_bins = 5}, random);
    ++counts[drawn.op];
    if (drawn.op == AugmentOp::rotate) ++rotations[drawn.magnitude];
  }
  for (int i = 0; i < kNumAugmentOps; ++i) {
    EXPECT_NEAR(counts[op_number(i)], kDraws / kNumAugmentOps, 216) << kNames[i];
  }
  // 0 and, of either sign, four more; 1/5 and 1/10 of about 2000.
  ASSERT_EQ(rotations.size(), 9U);
  for (const auto& [degrees, count] : rotations) {
    EXPECT_NEAR(count, degrees == 0 ? 400 : 200, degrees == 0 ? 100 : 75) << degrees;
  }
}

TEST(ColorJitter, DrawsFactorsAndOrdersAlike) {
  const ColorJitter options{
      .brightness = 0.4, .contrast = {0.5, 0.75}, .saturation = 3, .hue = {-0.1, 0.3}};
  constexpr int kDraws = 24000;
  std::map<std::array<uint8_t, 4>, int> orders;
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    CounterRandom random({5, 0, i}, augmentation_stream(0, 0));
    const DrawnJitter drawn = draw_jitter(options, random);
    ++orders[drawn.order];
    ASSERT_TRUE(drawn.brightness >= 0.6 && drawn.brightness < 1.4);
    ASSERT_TRUE(drawn.contrast >= 0.5 && drawn.contrast < 0.75);
    ASSERT_TRUE(drawn.saturation >= 0 && drawn.saturation < 4);
    ASSERT_TRUE(drawn.hue >= -0.1 && drawn.hue < 0.3);
    brightness += drawn.brightness / kDraws;
    contrast += drawn.contrast / kDraws;
    saturation += drawn.saturation / kDraws;
    hue += drawn.hue / kDraws;
  }
  EXPECT_EQ(orders.size(), 24U);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, kDraws / 24, 155);
  // Five standard errors of the mean of a uniform number: 5 * width / sqrt(12 * 24000).
  EXPECT_NEAR(brightness, 1, 0.0075);
  EXPECT_NEAR(contrast, 0.625, 0.0024);
  EXPECT_NEAR(saturation, 2, 0.038);
  EXPECT_NEAR(hue, 0.1, 0.0038);
}

// What one sample becomes.
std::vector<uint8_t> augmented(const std::vector<Augmentation>& augmentations, int64_t record) {
  Picture picture = make_picture(24, 20);
  Augmenter augmenter(augmentations);
  augmenter.run({picture.rgb.data(), 24, 20}, {1, 2, record});
  return picture.rgb;
}

TEST(Augmenter, JitterAppliesWhatWasDrawnInThatOrder) {
  const ColorJitter options{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1};
  for (int64_t i = 0; i < 20; ++i) {
    CounterRandom random({1, 2, i}, augmentation_stream(0, 0));
    const DrawnJitter drawn = draw_jitter(options, random);
    Picture picture = make_picture(24, 20);
    const RgbImage image{picture.rgb.data(), 24, 20};
    for (const uint8_t step : drawn.order) {
      if (step == 0) adjust_brightness(image, drawn.brightness);
      if (step == 1) adjust_contrast(image, drawn.contrast);
      if (step == 2) adjust_saturation(image, drawn.saturation);
      if (step == 3) adjust_hue(image, drawn.hue);
    }
    EXPECT_EQ(augmented({options}, i), picture.rgb);
  }
  EXPECT_EQ(augmented({ColorJitter{}}, 0), make_picture(24, 20).rgb);
}

TEST(Augmenter, RandAugmentAppliesSoManyDrawnOperations) {
  for (const int num_ops : {0, 1, 2, 5}) {
    const RandAugment options{.num_ops = num_ops, .magnitude = 20, .fill = {9, 8, 7}};
    for (int64_t i = 0; i < 20; ++i) {
      CounterRandom random({1, 2, i}, augmentation_stream(1, 0));
      Picture picture = make_picture(24, 20);
      std::vector<uint8_t> scratch(picture.rgb.size() + kScratchSlack);
      for (int k = 0; k < num_ops; ++k) {
        apply_op({picture.rgb.data(), 24, 20}, draw_op(options, {20, 24}, random), {9, 8, 7},
                 scratch.data());
      }
      EXPECT_EQ(augmented({options}, i), picture.rgb);
    }
  }
}

// Fills the image with what it draws.
class Recorder : public PixelTransform {
 public:
  void apply(const RgbImage& image, CounterRandom& random) const override {
    for (size_t i = 0; i < image.num_bytes(); ++i) image.data[i] = uint8_t(random.below(256));
  }
};

TEST(Augmenter, AugmentationsDoNotDisturbEachOthersDraws) {
  const auto recorder = std::make_shared<const Recorder>();
  const auto alone = augmented({recorder}, 3);
  EXPECT_EQ(augmented({ColorJitter{.hue = 0.2}, RandAugment{}, recorder}, 3), alone);
  EXPECT_NE(augmented({recorder}, 4), alone);
  // The second of a kind has a stream of its own.
  EXPECT_NE(augmented({recorder, recorder}, 3), alone);
}

}  // namespace
}  // namespace ffkit
