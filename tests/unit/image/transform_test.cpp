#include <gtest/gtest.h>

#include <limits>

#include <ffkit/image/transform.h>

#include "expect_error.h"

namespace ffkit {
namespace {

TEST(Transform, OutputSizeIsTheTransforms) {
  EXPECT_EQ(image_size(RandomResizedCrop{.size = 96}), ImageSize(96));
  EXPECT_EQ(image_size(ResizeCenterCrop{.resize = 300, .size = 288}), ImageSize(288));
}

TEST(Transform, SizesMayBeRectangles) {
  EXPECT_EQ(image_size(RandomCrop{.size = {20, 30}}), ImageSize(20, 30));
  EXPECT_EQ(image_size(Resize{.size = 7}), ImageSize(7, 7));
}

TEST(Transform, DefaultsAreValid) {
  EXPECT_NO_THROW(validate(RandomResizedCrop{}, {}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{}, {}));
  EXPECT_NO_THROW(validate(Resize{}, {}));
  EXPECT_NO_THROW(validate(RandomCrop{}, {}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{}, {.dtype = DType::u8, .normalize = false}));
  EXPECT_NO_THROW(validate(ResizeCenterCrop{.resize = 32, .size = 64}, {.dtype = DType::bf16}));
}

TEST(Transform, ValidateNamesTheFirstBadValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect = [](const ImageTransform& transform, const char* text) {
    EXPECT_ERROR(validate(transform, {}), invalid_argument, text);
  };
  expect(RandomResizedCrop{.size = 0}, "RandomResizedCrop size is 0; expected 1 to 8192");
  expect(RandomResizedCrop{.size = 8193}, "size is 8193");
  expect(RandomResizedCrop{.scale_min = 0}, "scale_min is 0");
  expect(RandomResizedCrop{.scale_min = nan}, "scale_min is nan");
  expect(RandomResizedCrop{.scale_max = 1.5}, "scale_max is 1.5");
  expect(RandomResizedCrop{.scale_min = 0.5, .scale_max = 0.4}, "scale_max is 0.4");
  expect(RandomResizedCrop{.ratio_min = -1}, "ratio_min is -1");
  expect(RandomResizedCrop{.ratio_min = 2, .ratio_max = 1}, "ratio_max is 1");
  expect(RandomResizedCrop{.flip_probability = 1.1}, "flip_probability is 1.1");
  expect(ResizeCenterCrop{.resize = -3}, "ResizeCenterCrop resize is -3");
  expect(ResizeCenterCrop{.size = 0}, "ResizeCenterCrop size is 0");
  expect(ResizeCenterCrop{.size = {3, 0}}, "ResizeCenterCrop size.width is 0; expected 1 to 8192");
  expect(Resize{.size = {9000, 3}}, "Resize size.height is 9000; expected 1 to 8192");
  expect(RandomCrop{.size = -1}, "RandomCrop size is -1; expected 1 to 8192");
  expect(RandomCrop{.padding = {0, 0, -2, 0}}, "RandomCrop padding is -2; expected 0 to 8192");
  expect(RandomCrop{.flip_probability = nan},
         "RandomCrop flip_probability is nan; expected 0 to 1");
}

TEST(Transform, InterpolationsHaveNames) {
  for (const Interpolation interpolation : kInterpolations) {
    EXPECT_EQ(parse_interpolation(to_string(interpolation)), interpolation);
    if (is_built(interpolation)) {
      EXPECT_NO_THROW(validate(Resize{.interpolation = interpolation}, {}));
    } else {
      EXPECT_ERROR(validate(Resize{.interpolation = interpolation}, {}), unsupported,
                   "needs OpenCV");
    }
  }
  EXPECT_ERROR(parse_interpolation("lanczos"), invalid_argument,
               "there are bilinear, bicubic and opencv_bilinear");
  EXPECT_ERROR(validate(Resize{.interpolation = static_cast<Interpolation>(7)}, {}),
               invalid_argument, "interpolation is 7");
}

TEST(Transform, ValidateChecksTheOutput) {
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::u8}), invalid_argument,
               "u8 output cannot be normalised");
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::f64}), invalid_argument,
               "dtype is f64");
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.std = {1, 0, 1}}), invalid_argument, "std is 0");
  EXPECT_ERROR(
      validate(ResizeCenterCrop{}, {.mean = {0, 0, std::numeric_limits<float>::infinity()}}),
      invalid_argument, "mean is inf");
}

}  // namespace
}  // namespace ffkit
