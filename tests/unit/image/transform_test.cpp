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
  const auto expect = [](const ImageTransform& transform) {
    EXPECT_ERROR(validate(transform, {}), invalid_argument);
  };
  expect(RandomResizedCrop{.size = 0});
  expect(RandomResizedCrop{.size = 8193});
  expect(RandomResizedCrop{.scale_min = 0});
  expect(RandomResizedCrop{.scale_min = nan});
  expect(RandomResizedCrop{.scale_max = 1.5});
  expect(RandomResizedCrop{.scale_min = 0.5, .scale_max = 0.4});
  expect(RandomResizedCrop{.ratio_min = -1});
  expect(RandomResizedCrop{.ratio_min = 2, .ratio_max = 1});
  expect(RandomResizedCrop{.flip_probability = 1.1});
  expect(ResizeCenterCrop{.resize = -3});
  expect(ResizeCenterCrop{.size = 0});
  expect(ResizeCenterCrop{.size = {3, 0}});
  expect(Resize{.size = {9000, 3}});
  expect(RandomCrop{.size = -1});
  expect(RandomCrop{.padding = {0, 0, -2, 0}});
  expect(RandomCrop{.flip_probability = nan});
}

TEST(Transform, InterpolationsHaveNames) {
  for (const Interpolation interpolation : kInterpolations) {
    EXPECT_EQ(parse_interpolation(to_string(interpolation)), interpolation);
    if (is_built(interpolation)) {
      EXPECT_NO_THROW(validate(Resize{.interpolation = interpolation}, {}));
    } else {
      EXPECT_ERROR_CODE(validate(Resize{.interpolation = interpolation}, {}), unsupported);
    }
  }
  EXPECT_ERROR(parse_interpolation("lanczos"), invalid_argument);
  EXPECT_ERROR(validate(Resize{.interpolation = static_cast<Interpolation>(7)}, {}),
               invalid_argument);
}

TEST(Transform, ValidateChecksTheOutput) {
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::u8}), invalid_argument);
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.dtype = DType::f64}), invalid_argument);
  EXPECT_ERROR(validate(ResizeCenterCrop{}, {.std = {1, 0, 1}}), invalid_argument);
  EXPECT_ERROR(
      validate(ResizeCenterCrop{}, {.mean = {0, 0, std::numeric_limits<float>::infinity()}}),
      invalid_argument);
}

}  // namespace
}  // namespace ffkit
