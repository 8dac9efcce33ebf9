// The pictures of a batch as cv::Mat.
#ifdef FFKIT_OPENCV
#include <gtest/gtest.h>

#include <ffkit/loader/loader.h>
#include <ffkit/loader/opencv.h>

#include "expect_error.h"
#include "make_dataset.h"
#include "temp_dir.h"

namespace ffkit {
namespace {

Batch first_batch(const Dataset& dataset, Layout layout, DType dtype) {
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 1;
  options.image.transform = Resize{.size = {6, 9}};
  options.image.output = {.dtype = dtype, .layout = layout, .normalize = dtype != DType::u8};
  Loader loader(dataset, options);
  return std::move(*loader.next());
}

TEST(OpencvBatch, PicturesShareTheMemory) {
  const testing::TempDir temp;
  const Dataset dataset = testing::make_dataset(temp / "train");
  Batch bytes = first_batch(dataset, Layout::nhwc, DType::u8);
  const cv::Mat last = picture_mat(bytes, 3);
  EXPECT_EQ(last.rows, 6);
  EXPECT_EQ(last.cols, 9);
  EXPECT_EQ(last.type(), CV_8UC3);
  EXPECT_EQ(last.data, static_cast<uint8_t*>(bytes.images()) + 3 * 6 * 9 * 3);
  Batch floats = first_batch(dataset, Layout::nhwc, DType::f32);
  EXPECT_EQ(picture_mat(floats, 1).type(), CV_32FC3);
  EXPECT_EQ(picture_mat(floats, 1).at<cv::Vec3f>(0, 0)[0],
            static_cast<float*>(floats.images())[6 * 9 * 3]);
  EXPECT_ERROR(picture_mat(bytes, 4), invalid_argument);
  Batch planes = first_batch(dataset, Layout::nchw, DType::u8);
  EXPECT_ERROR(picture_mat(planes, 0), unsupported);
  Batch halves = first_batch(dataset, Layout::nhwc, DType::bf16);
  EXPECT_ERROR(picture_mat(halves, 0), unsupported);
}

}  // namespace
}  // namespace ffkit
#endif
