// ScalePad: floats against cv::resize of the normalised picture, the zeros around it, and where
// pixels went.
#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/opencv.h>
#endif

#include "elements.h"
#include "highway_targets.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

// BEVFormer's, for pixels of 0 .. 255.
constexpr std::array<float, 3> kPadMean = {123.675F, 116.28F, 103.53F};
constexpr std::array<float, 3> kPadStd = {58.395F, 57.12F, 57.375F};

ImageOutput pad_output(DType dtype = DType::f32, Layout layout = Layout::nchw) {
  ImageOutput output{.dtype = dtype, .layout = layout};
  for (size_t c = 0; c < 3; ++c) {
    output.mean[c] = kPadMean[c] / 255;
    output.std[c] = kPadStd[c] / 255;
  }
  return output;
}

// Elements as floats; nothing may be written behind them.
std::vector<float> run_pad(const ScalePad& pad, const Picture& picture, const ImageOutput& output) {
  const size_t num_bytes =
      static_cast<size_t>(3 * pad.size.height * pad.size.width) * size_of(output.dtype);
  std::vector<uint8_t> out(num_bytes + 64, 0xAB);
  PipelineTimes times;
  ImagePipeline({.transform = pad, .output = output})
      .run(encode_png(picture.view()), {}, out.data(), times);
  for (size_t i = num_bytes; i < out.size(); ++i) EXPECT_EQ(out[i], 0xAB);
  out.resize(num_bytes);
  return testing::elements(out, output.dtype);
}

int scaled(int length, double factor) {
  return static_cast<int>(length * factor);
}

class ScalePadPixels : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(ScalePadPixels);

struct PadCase {
  int width;
  int height;
  double factor;
};
constexpr PadCase kPadCases[] = {{160, 90, 0.5},  {160, 90, 0.8},  {160, 90, 0.2},  {160, 90, 1},
                                 {161, 97, 0.5},  {161, 97, 0.8},  {161, 97, 0.2},  {161, 97, 1},
                                 {33, 17, 0.5},   {31, 47, 1.7},   {5, 3, 16},      {2, 2, 0.5},
                                 {200, 1, 0.8},   {1, 1, 7},       {1, 9, 1},       {1600, 20, 0.5},
                                 {1601, 21, 0.3}, {64, 64, 0.999}, {64, 64, 1.001}, {15, 15, 2}};

#ifdef FFKIT_OPENCV

// [height, width, 3], in the way of the published code: normalised, then resized.
cv::Mat reference_pad(const Picture& picture, double factor) {
  cv::Mat values;
  as_mat(picture.view()).convertTo(values, CV_32FC3);
  for (int y = 0; y < values.rows; ++y) {
    for (int x = 0; x < values.cols; ++x) {
      auto& pixel = values.at<cv::Vec3f>(y, x);
      for (int c = 0; c < 3; ++c) {
        const auto i = static_cast<size_t>(c);
        pixel[c] =
            static_cast<float>((double{pixel[c]} - double{kPadMean[i]}) * (1 / double{kPadStd[i]}));
      }
    }
  }
  cv::Mat resized;
  cv::resize(
      values, resized,
      {std::max(1, scaled(picture.width, factor)), std::max(1, scaled(picture.height, factor))}, 0,
      0, cv::INTER_LINEAR);
  return resized;
}

TEST_P(ScalePadPixels, AreThoseOfOpencvsResizeOfFloats) {
  for (const auto& [width, height, factor] : kPadCases) {
    SCOPED_TRACE(fmt::format("{} x {} times {}", width, height, factor));
    const Picture picture = make_picture(width, height, 5);
    const cv::Mat expected = reference_pad(picture, factor);
    // Six columns and five rows of zeros.
    const ScalePad pad{.size = {expected.rows + 5, expected.cols + 6}, .factor = factor};
    const auto columns = static_cast<size_t>(pad.size.width);
    const auto rows = static_cast<size_t>(pad.size.height);
    const std::vector<float> found = run_pad(pad, picture, pad_output());
    double largest = 0;
    double difference = 0;
    for (size_t c = 0; c < 3; ++c) {
      for (size_t y = 0; y < rows; ++y) {
        for (size_t x = 0; x < columns; ++x) {
          const float value = found[(c * rows + y) * columns + x];
          if (int(y) >= expected.rows || int(x) >= expected.cols) {
            ASSERT_EQ(value, 0) << c << ", " << y << ", " << x;
            continue;
          }
          const float wanted = expected.at<cv::Vec3f>(int(y), int(x))[int(c)];
          largest = std::max(largest, std::abs(double{wanted}));
          difference = std::max(difference, std::abs(double{wanted} - double{value}));
        }
      }
    }
    EXPECT_LE(difference, 1e-6 * largest);
  }
}

#endif

TEST_P(ScalePadPixels, AtHalfSizeAreMeansOfFour) {
  const Picture picture = make_picture(70, 46, 6);
  const std::vector<float> found =
      run_pad({.size = {32, 64}}, picture, {.layout = Layout::nhwc, .normalize = false});
  for (int y = 0; y < 23; ++y) {
    for (int x = 0; x < 35; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int sum = picture.at(2 * x, 2 * y)[c] + picture.at(2 * x + 1, 2 * y)[c] +
                        picture.at(2 * x, 2 * y + 1)[c] + picture.at(2 * x + 1, 2 * y + 1)[c];
        EXPECT_EQ(found[static_cast<size_t>(3 * (64 * y + x) + c)],
                  static_cast<float>(sum) / 4 * (1.0F / 255));
      }
    }
  }
}

TEST_P(ScalePadPixels, AreTheSameInEveryTypeAndLayout) {
  for (const auto& [width, height, factor] : std::span(kPadCases).subspan(5, 10)) {
    SCOPED_TRACE(fmt::format("{} x {} times {}", width, height, factor));
    const Picture picture = make_picture(width, height, 7);
    const ScalePad pad{
        .size = {std::max(1, scaled(height, factor)) + 2, std::max(1, scaled(width, factor)) + 3},
        .factor = factor};
    const auto num_pixels = static_cast<size_t>(pad.size.width * pad.size.height);
    const std::vector<float> planes = run_pad(pad, picture, pad_output());
    const std::pair<DType, int> types[] = {{DType::f32, 24}, {DType::f16, 11}, {DType::bf16, 8}};
    for (const auto& [dtype, bits] : types) {
      const auto rounded = [&, bits = bits](size_t i) {
        return testing::round_to_bits(planes[i], bits);
      };
      const std::vector<float> nchw = run_pad(pad, picture, pad_output(dtype));
      const std::vector<float> nhwc = run_pad(pad, picture, pad_output(dtype, Layout::nhwc));
      for (size_t i = 0; i < planes.size(); ++i) {
        if (dtype == DType::f16 && std::abs(planes[i]) < 1e-4F) continue;  // fewer bits there
        ASSERT_EQ(nchw[i], rounded(i)) << to_string(dtype) << " " << i;
        ASSERT_EQ(nhwc[i % num_pixels * 3 + i / num_pixels], rounded(i))
            << to_string(dtype) << " " << i;
      }
    }
  }
}

TEST(ScalePad, OnePipelineTakesPicturesOfAllSizes) {
  const ScalePad pad{.size = {120, 160}, .factor = 0.7};
  ImagePipeline pipeline({.transform = pad, .output = pad_output()});
  for (const auto& [width, height] :
       {std::pair(200, 150), {20, 10}, {199, 160}, {1, 1}, {200, 1}}) {
    const Picture picture = make_picture(width, height, 8);
    std::vector<float> out(size_t{3} * 120 * 160, 1);
    PipelineTimes times;
    pipeline.run(encode_png(picture.view()), {}, out.data(), times);
    EXPECT_EQ(out, run_pad(pad, picture, pad_output())) << width << " x " << height;
  }
}

TEST(ScalePad, PicturesThatDoNotFitAreRefused) {
  const ScalePad pad{.size = {50, 80}, .factor = 0.5};
  const Picture fits = make_picture(161, 101);
  EXPECT_EQ(run_pad(pad, fits, pad_output()).size(), 12'000U);
  EXPECT_ERROR(run_pad(pad, make_picture(162, 101), pad_output()), unsupported);
  EXPECT_ERROR(run_pad(pad, make_picture(160, 102), pad_output()), unsupported);
}

TEST(ScalePad, MapIsTheFactor) {
  const ImageMap map = image_map(ScalePad{.factor = 0.3});
  EXPECT_EQ(map.scale_x, 0.3);
  EXPECT_EQ(map.scale_y, 0.3);
  EXPECT_EQ(map.offset_x, 0);
  EXPECT_EQ(map.offset_y, 0);
}

TEST(ScalePad, OptionsOutOfRangeAreRefused) {
  EXPECT_NO_THROW(validate({.transform = ScalePad{}}));
  EXPECT_ERROR(validate({.transform = ScalePad{.size = {0, 8}}}), invalid_argument);
  for (const double factor : {0.0, -1.0, 16.1, std::nan("")}) {
    EXPECT_ERROR(validate({.transform = ScalePad{.factor = factor}}), invalid_argument);
  }
  EXPECT_ERROR(
      validate({.transform = ScalePad{}, .output = {.dtype = DType::u8, .normalize = false}}),
      invalid_argument);
  EXPECT_ERROR(validate({.transform = ScalePad{}, .augmentations = {ColorJitter{}}}),
               invalid_argument);
}

}  // namespace
}  // namespace ffkit
