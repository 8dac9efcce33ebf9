// OpenCV's pixels: each transform against cv::resize of the whole picture, called here.
#include "test_prelude.h"

#ifdef FFKIT_OPENCV
#include <opencv2/imgproc.hpp>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/image_resizer.h>
#include <ffkit/image/opencv.h>

#include "expect_error.h"
#include "random_numbers/random_streams.h"
#include "test_images.h"
#include "transform/picture_scaler.h"
#include "views/picture_views.h"

namespace ffkit {
namespace {

constexpr ImageOutput kOpencvOutput{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};
constexpr int kOpencvWidth = 161;
constexpr int kOpencvHeight = 97;

class OpencvPixels : public ::testing::Test {
 protected:
  std::vector<uint8_t> run(const ImageTransform& transform) {
    const ImageSize size = image_size(transform);
    std::vector<uint8_t> out(static_cast<size_t>(3 * size.height * size.width), 7);
    PipelineTimes times;
    ImagePipeline({.transform = transform, .output = kOpencvOutput})
        .run(jpeg_, key_, out.data(), times);
    return out;
  }

  cv::Mat resized(const cv::Mat& from, int width, int height) {
    cv::Mat to;
    cv::resize(from, to, {width, height}, 0, 0, cv::INTER_LINEAR);
    return to;
  }

  static std::vector<uint8_t> bytes_of(const cv::Mat& mat) {
    const cv::Mat all = mat.clone();
    return {all.data, all.data + all.total() * all.elemSize()};
  }

  const std::vector<std::byte> jpeg_ =
      encode_jpeg(testing::make_picture(kOpencvWidth, kOpencvHeight, 3).view());
  ImageDecoder decoder_;
  const RgbView view_ = decoder_.decode(jpeg_);
  const cv::Mat whole_ = as_mat(view_);
  const SampleKey key_{.seed = 3, .epoch = 1, .record_index = 5};
};

TEST_F(OpencvPixels, Resize) {
  constexpr ImageSize kSizes[] = {{40, 50}, {200, 300}, {kOpencvHeight, kOpencvWidth}, {1, 1}};
  for (const ImageSize& size : kSizes) {
    EXPECT_EQ(run(Resize{.size = size, .interpolation = Interpolation::opencv_bilinear}),
              bytes_of(resized(whole_, int(size.width), int(size.height))));
  }
  // Another filter has other pixels, so the comparison means something.
  EXPECT_NE(run(Resize{.size = {40, 50}}), bytes_of(resized(whole_, 50, 40)));
}

TEST_F(OpencvPixels, RandomResizedCrop) {
  const RandomResizedCrop crop{.size = {16, 20},
                               .scale_min = 0.5,
                               .flip_probability = 1,
                               .interpolation = Interpolation::opencv_bilinear};
  CounterRandom random(key_, kCropStream);
  const Rect rect = draw_crop(crop, kOpencvWidth, kOpencvHeight, random).rect;
  cv::Mat expected;
  cv::flip(resized(whole_(cv::Rect(rect.x, rect.y, rect.width, rect.height)), 20, 16), expected, 1);
  EXPECT_EQ(run(crop), bytes_of(expected));
}

TEST_F(OpencvPixels, ResizeCenterCrop) {
  const ResizeCenterCrop crop{
      .resize = 48, .size = {40, 44}, .interpolation = Interpolation::opencv_bilinear};
  const CenterCropGeometry at = center_crop_geometry(crop, kOpencvWidth, kOpencvHeight);
  EXPECT_EQ(run(crop), bytes_of(resized(whole_, at.resized_width, at.resized_height)(
                           cv::Rect(at.taken.x, at.taken.y, at.taken.width, at.taken.height))));
}

TEST_F(OpencvPixels, ResizeCropPadsWithBlack) {
  const ResizeCrop crop{.size = {64, 60},
                        .factor_min = 0.5,
                        .factor_max = 0.5,
                        .interpolation = Interpolation::opencv_bilinear};
  CounterRandom random(key_, kCropStream);
  const DrawnResizeCrop drawn = draw_crop(crop, kOpencvWidth, kOpencvHeight, random);
  ASSERT_EQ(drawn.resized_height, 48);
  cv::Mat expected(64, 60, CV_8UC3, cv::Scalar::all(0));
  resized(whole_, drawn.resized_width, 48)(cv::Rect(drawn.x, 0, 60, 48))
      .copyTo(expected(cv::Rect(0, 16, 60, 48)));
  EXPECT_EQ(run(crop), bytes_of(expected));
}

TEST_F(OpencvPixels, AreNotThoseOfImageResizer) {
  ImageResizer resizer;
  EXPECT_ERROR(resizer.resize(view_, 33, 20, Interpolation::opencv_bilinear), unsupported);
}

TEST_F(OpencvPixels, AMatSharesThePixelsOfATransform) {
  testing::Picture picture = testing::make_picture(8, 6);
  const cv::Mat mat = as_mat(RgbImage{picture.rgb.data(), picture.width, picture.height});
  EXPECT_EQ(mat.data, picture.rgb.data());
  EXPECT_EQ(mat.rows, 6);
  EXPECT_EQ(mat.at<cv::Vec3b>(5, 7)[2], picture.at(7, 5)[2]);
}

}  // namespace
}  // namespace ffkit

#else

#include <ffkit/image/image_options.h>

TEST(OpencvPixels, AreRefusedInABuildWithoutOpencv) {
  EXPECT_ERROR_CODE(
      ffkit::validate(
          ffkit::Resize{.size = {8, 8}, .interpolation = ffkit::Interpolation::opencv_bilinear},
          ffkit::ImageOutput{}),
      unsupported);
}

#endif
