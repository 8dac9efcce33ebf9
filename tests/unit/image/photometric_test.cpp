// PhotoMetricDistortion: pixels against OpenCV's HSV, and how often each step happens.
#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/opencv.h>
#endif

#include "highway_targets.h"
#include "image_prelude.h"
#include "random_numbers/random_streams.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

constexpr uint8_t kDistortionStream = augmentation_stream(4, 0);

RowDistortion drawn_for(const SampleKey& key) {
  CounterRandom random(key, kDistortionStream);
  return draw_distortion({}, random);
}

#ifdef FFKIT_OPENCV

constexpr int kDistortedWidth = 77;
constexpr int kDistortedHeight = 41;
constexpr ImageSize kDistortedSize{kDistortedHeight, kDistortedWidth};
constexpr size_t kNumDistorted = size_t{3} * kDistortedHeight * kDistortedWidth;
constexpr ImageOutput kPlainFloats{.layout = Layout::nhwc, .normalize = false};

// Every third column dark, so that brightness makes it negative, and some pixels grey, black and
// white.
Picture colourful_picture() {
  Picture picture = make_picture(kDistortedWidth, kDistortedHeight, 9);
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    if (i / 3 % 3 == 0) picture.rgb[i] /= 16;
    if (i / 3 % 17 == 5) picture.rgb[i] = 128;
    if (i / 3 % 19 == 6) picture.rgb[i] = 0;
    if (i / 3 % 23 == 7) picture.rgb[i] = 255;
  }
  picture.rgb.resize(kNumDistorted + 64);  // which RgbView lets be read
  return picture;
}

// The published code's steps, in units of 0 .. 255.
cv::Mat reference_distortion(const Picture& picture, const RowDistortion& drawn) {
  cv::Mat pixels;
  as_mat(picture.view()).convertTo(pixels, CV_32FC3);
  pixels += cv::Scalar::all(double{drawn.brightness});
  pixels *= double{drawn.contrast_before};
  cv::cvtColor(pixels, pixels, cv::COLOR_RGB2HSV);
  for (int y = 0; y < pixels.rows; ++y) {
    for (int x = 0; x < pixels.cols; ++x) {
      auto& pixel = pixels.at<cv::Vec3f>(y, x);
      pixel[1] *= drawn.saturation;
      pixel[0] += 60 * drawn.hue;
      if (pixel[0] > 360) pixel[0] -= 360;
      if (pixel[0] < 0) pixel[0] += 360;
    }
  }
  cv::cvtColor(pixels, pixels, cv::COLOR_HSV2RGB);
  pixels *= double{drawn.contrast_after};
  cv::Mat swapped(pixels.size(), CV_32FC3);
  for (int c = 0; c < 3; ++c) {
    const std::array<int, 2> from_to = {drawn.channels[static_cast<size_t>(c)], c};
    cv::mixChannels(&pixels, 1, &swapped, 1, from_to.data(), 1);
  }
  return swapped;
}

// Of values of 0 .. 1 and beyond.
double largest_difference(const cv::Mat& expected, const std::vector<float>& found) {
  double largest = 0;
  for (int y = 0; y < expected.rows; ++y) {
    for (int x = 0; x < expected.cols; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wanted = double{expected.at<cv::Vec3f>(y, x)[c]} / 255;
        const double value = found[static_cast<size_t>(3 * (y * expected.cols + x) + c)];
        largest = std::max(largest, std::abs(wanted - value));
      }
    }
  }
  return largest;
}

class DistortedPixels : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(DistortedPixels);

TEST_P(DistortedPixels, AreThoseOfOpencvsHsv) {
  const Picture picture = colourful_picture();
  FloatScaler scaler(kDistortedSize, kPlainFloats);
  std::vector<float> found(kNumDistorted);
  const auto check = [&](const RowDistortion& drawn) {
    SCOPED_TRACE(fmt::format("brightness {}, contrast {}, {}, saturation {}, hue {}",
                             drawn.brightness, drawn.contrast_before, drawn.contrast_after,
                             drawn.saturation, drawn.hue));
    scaler.run(picture.view(), kDistortedWidth, kDistortedHeight, &drawn, found.data());
    EXPECT_LT(largest_difference(reference_distortion(picture, drawn), found), 1e-5);
  };
  check({});
  for (const float brightness : {-32.0F, -20.5F, 0.0F, 31.25F}) {
    for (const float saturation : {0.0F, 0.5F, 1.0F, 1.5F}) {
      for (const float hue : {-3.0F, -0.3F, 0.0F, 0.01F, 0.3F, 3.0F}) {
        check({.brightness = brightness, .saturation = saturation, .hue = hue});
        check({.brightness = brightness,
               .contrast_before = 0.5F,
               .saturation = saturation,
               .hue = hue,
               .contrast_after = 1.5F,
               .channels = {2, 0, 1}});
      }
    }
  }
}

TEST(PhotoMetricDistortion, PipelineDrawsFromTheSamplesKey) {
  const Picture picture = colourful_picture();
  const auto image = encode_png(picture.view());
  ImagePipeline pipeline({.transform = ScalePad{.size = kDistortedSize, .factor = 1},
                          .augmentations = {PhotoMetricDistortion{}},
                          .output = kPlainFloats});
  std::vector<float> found(kNumDistorted);
  PipelineTimes times;
  for (int64_t record = 0; record < 40; ++record) {
    const SampleKey key{.seed = 3, .epoch = 2, .record_index = record};
    pipeline.run(image, key, found.data(), times);
    EXPECT_LT(largest_difference(reference_distortion(picture, drawn_for(key)), found), 1e-5);
  }
}

// Normalised, halved and padded behind the distortion.
TEST(PhotoMetricDistortion, ComesBeforeTheResize) {
  const Picture picture = colourful_picture();
  const RowDistortion drawn{.brightness = -25, .saturation = 1.4F, .hue = 0.2F};
  cv::Mat expected = reference_distortion(picture, drawn);
  cv::resize(expected, expected, {38, 20}, 0, 0, cv::INTER_LINEAR);
  FloatScaler scaler({20, 38}, kPlainFloats);
  std::vector<float> found(size_t{3} * 20 * 38);
  scaler.run(picture.view(), 38, 20, &drawn, found.data());
  EXPECT_LT(largest_difference(expected, found), 1e-5);
}

#endif

TEST(PhotoMetricDistortion, EachStepHappensHalfOfTheTime) {
  constexpr int kDraws = 20'000;
  constexpr double kFiveSigma = 5 * 0.5 / 141;  // of a share of a half, in so many draws
  int num_bright = 0;
  int num_before = 0;
  int num_after = 0;
  int num_saturated = 0;
  int num_hue = 0;
  std::map<std::array<uint8_t, 3>, int> orders;
  struct Range {
    double min = 1e9;
    double max = -1e9;
    double sum = 0;
    void add(double value) {
      min = std::min(min, value);
      max = std::max(max, value);
      sum += value;
    }
  };
  Range brightness;
  Range contrast;
  Range saturation;
  Range hue;
  for (int64_t record = 0; record < kDraws; ++record) {
    const RowDistortion drawn = drawn_for({.seed = 1, .record_index = record});
    if (drawn.brightness != 0) brightness.add(drawn.brightness), ++num_bright;
    if (drawn.contrast_before != 1) contrast.add(drawn.contrast_before), ++num_before;
    if (drawn.contrast_after != 1) contrast.add(drawn.contrast_after), ++num_after;
    if (drawn.saturation != 1) saturation.add(drawn.saturation), ++num_saturated;
    if (drawn.hue != 0) hue.add(drawn.hue), ++num_hue;
    EXPECT_FALSE(drawn.contrast_before != 1 && drawn.contrast_after != 1);
    ++orders[drawn.channels];
  }
  const auto share = [&](int count) { return static_cast<double>(count) / kDraws; };
  EXPECT_NEAR(share(num_bright), 0.5, kFiveSigma);
  EXPECT_NEAR(share(num_before), 0.25, kFiveSigma);
  EXPECT_NEAR(share(num_after), 0.25, kFiveSigma);
  EXPECT_NEAR(share(num_saturated), 0.5, kFiveSigma);
  EXPECT_NEAR(share(num_hue), 0.5, kFiveSigma);
  ASSERT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders) {
    const bool is_same = order == std::array<uint8_t, 3>{0, 1, 2};
    EXPECT_NEAR(share(count), (is_same ? 7 : 1) / 12.0, kFiveSigma);
  }
  const auto expect_range = [](const Range& range, int count, double min, double max) {
    const double length = max - min;
    EXPECT_GE(range.min, min);
    EXPECT_LT(range.min, min + 0.01 * length);
    EXPECT_LE(range.max, max);
    EXPECT_GT(range.max, max - 0.01 * length);
    EXPECT_NEAR(range.sum / count, (min + max) / 2, 0.02 * length);
  };
  expect_range(brightness, num_bright, -32, 32);
  expect_range(contrast, num_before + num_after, 0.5, 1.5);
  expect_range(saturation, num_saturated, 0.5, 1.5);
  expect_range(hue, num_hue, -0.3, 0.3);
}

TEST(PhotoMetricDistortion, StepsAreDrawnIndependently) {
  std::map<std::array<bool, 6>, int> together;
  for (int64_t record = 0; record < 6'400; ++record) {
    const RowDistortion drawn = drawn_for({.record_index = record});
    ++together[{drawn.brightness != 0, drawn.contrast_before != 1, drawn.contrast_after != 1,
                drawn.saturation != 1, drawn.hue != 0,
                drawn.channels != std::array<uint8_t, 3>{0, 1, 2}}];
  }
  // Three ways of the contrast, two of each other step.
  EXPECT_EQ(together.size(), 48U);
}

TEST(PhotoMetricDistortion, GoesWithScalePadAlone) {
  const ScalePad pad;
  const PhotoMetricDistortion distortion;
  EXPECT_NO_THROW(validate({.transform = pad, .augmentations = {distortion}}));
  EXPECT_ERROR(validate({.transform = ResizeCrop{}, .augmentations = {distortion}}),
               invalid_argument);
  EXPECT_ERROR(validate({.transform = pad, .augmentations = {distortion, ColorJitter{}}}),
               invalid_argument);
  EXPECT_ERROR(validate({.transform = pad, .augmentations = {distortion, distortion}}),
               invalid_argument);
}

TEST(PhotoMetricDistortion, OptionsOutOfRangeAreRefused) {
  const auto refused = [](const PhotoMetricDistortion& distortion) {
    EXPECT_ERROR(validate({.transform = ScalePad{}, .augmentations = {distortion}}),
                 invalid_argument);
  };
  refused({.brightness_delta = -1});
  refused({.contrast = {2, 1}});
  refused({.saturation = {-1, 1}});
  refused({.hue_delta = 181});
}

}  // namespace
}  // namespace ffkit
