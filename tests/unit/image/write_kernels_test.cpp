#include <gtest/gtest.h>

#include "pixels/pixel_kernels.h"

namespace ffkit {
namespace {

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
