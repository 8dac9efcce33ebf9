// Samples have the same bytes on every processor, with every set of vector instructions: checksums
// that were taken on x86-64.
#include <ffkit/base/crc32c.h>

#include "highway_targets.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

class SameBytes : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(SameBytes);

// Of 12 samples: a raw picture and a JPEG, six random views each.
uint32_t checksum_of(const ImageOptions& options) {
  const testing::Picture picture = testing::make_picture(211, 157);
  std::vector<std::byte> raw;
  encode_ppm(picture.view(), raw);
  const std::vector<std::byte> jpeg = encode_jpeg(picture.view());
  const ImageSize size = image_size(options.transform);
  std::vector<std::byte> out(size_t(3 * size.height * size.width) * size_of(options.output.dtype));
  ImagePipeline pipeline(options);
  PipelineTimes times;
  uint32_t crc = 0;
  for (const std::span<const std::byte> image :
       {std::span<const std::byte>(raw), std::span<const std::byte>(jpeg)}) {
    for (int64_t i = 0; i < 6; ++i) {
      pipeline.run(image, {1, 2, i}, out.data(), times);
      crc = crc32c(out, crc);
    }
  }
  return crc;
}

TEST_P(SameBytes, InEveryTypeAndLayout) {
  const ImageTransform bilinear = RandomResizedCrop{.size = {37, 53}, .flip_probability = 0.5};
  const ImageTransform bicubic =
      ResizeCenterCrop{.resize = 80, .size = {41, 67}, .interpolation = Interpolation::bicubic};
  std::vector<uint32_t> found;
  for (const ImageTransform& transform : {bilinear, bicubic}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::bf16, DType::f32}) {
        found.push_back(checksum_of(
            {.transform = transform,
             .output = {.dtype = dtype, .layout = layout, .normalize = dtype != DType::u8}}));
      }
    }
  }
  EXPECT_EQ(found, (std::vector<uint32_t>{0x15A88EBF, 0x2DFBBDD1, 0x1FC81FB6, 0x528E5DC8,
                                          0xAA7FDDE7, 0xAA595E71, 0x38EFEAC8, 0x66BA2233,
                                          0xF940B0BB, 0xC6D895B1, 0x4C871258, 0x13949333,
                                          0x4F75F93F, 0xB3259CC3, 0xD012EC21, 0x177CB40E}));
}

TEST_P(SameBytes, AfterAugmentations) {
  const ImageTransform transform = RandomResizedCrop{.size = {45, 61}, .flip_probability = 0.5};
  std::vector<uint32_t> found;
  for (const std::vector<Augmentation>& augmentations :
       {std::vector<Augmentation>{ColorJitter{0.4, 0.4, 0.4, 0.3}},
        std::vector<Augmentation>{RandAugment{}}, std::vector<Augmentation>{TrivialAugmentWide{}},
        std::vector<Augmentation>{GaussianBlur{}},
        std::vector<Augmentation>{GaussianBlur{.kernel_size = 9}},
        std::vector<Augmentation>{Apply{.augmentations = {ColorJitter{0.4}, Grayscale{}}},
                                  OneOf{.augmentations = {Solarize{}, GaussianBlur{}}}}}) {
    found.push_back(checksum_of({.transform = transform, .augmentations = augmentations}));
  }
  EXPECT_EQ(found, (std::vector<uint32_t>{0xADB2DECF, 0x2EC60C13, 0x05E0AEFF, 0x0A504A40,
                                          0x24D228CF, 0x57A87EE8}));
}

TEST_P(SameBytes, InFloats) {
  std::vector<uint32_t> found;
  for (const double factor : {0.5, 0.8, 1.0}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
        found.push_back(checksum_of({.transform = ScalePad{.size = {160, 224}, .factor = factor},
                                     .output = {.dtype = dtype, .layout = layout}}));
      }
    }
  }
  found.push_back(checksum_of({.transform = ScalePad{.size = {160, 224}, .factor = 0.5},
                               .augmentations = {PhotoMetricDistortion{}}}));
  EXPECT_EQ(found,
            (std::vector<uint32_t>{0xB6E592AE, 0x90300F0A, 0x69471D0A, 0xAB5C741C, 0xCB69B30F,
                                   0xB85CBDD4, 0x3E62D07F, 0xCE183A25, 0x4AB07430, 0x064CF397,
                                   0xFA4139CA, 0x086A60C7, 0x7262AA7C, 0x3F76A0D5, 0x446A6F72,
                                   0x37CE59AF, 0x15CD2272, 0x0FCC349E, 0x804092C8}));
}

}  // namespace
}  // namespace ffkit
