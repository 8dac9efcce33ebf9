#include "codec/mask_decoder.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::copy;

TEST(EncodePng, DecodesToTheSamePixels) {
  ImageDecoder decoder;
  const std::pair<int, int> sizes[] = {{1, 1}, {1, 9}, {7, 1}, {37, 21}, {640, 480}};
  for (const auto& [width, height] : sizes) {
    const Picture picture = make_picture(width, height, 3);
    const std::vector<std::byte> png = encode_png(picture.view());
    const ImageInfo info = read_image_info(png);
    EXPECT_EQ(info.encoding, ImageEncoding::png);
    EXPECT_EQ(info.num_components, 3);
    const Picture decoded = copy(decoder.decode(png));
    EXPECT_EQ(decoded.width, width);
    EXPECT_EQ(decoded.height, height);
    EXPECT_EQ(decoded.rgb, picture.rgb) << width << " x " << height;
  }
}

TEST(EncodePng, TakesAPartOfALargerPicture) {
  const Picture picture = make_picture(50, 40);
  const RgbView part{picture.at(11, 5), 20, 30, ptrdiff_t{3} * picture.width};
  ImageDecoder decoder;
  EXPECT_EQ(copy(decoder.decode(encode_png(part))).rgb, copy(part).rgb);
}

TEST(EncodePng, GivesTheSameBytesAgain) {
  const Picture picture = make_picture(64, 48);
  EXPECT_EQ(encode_png(picture.view()), encode_png(picture.view()));
}

TEST(EncodePng, RefusesImpossibleSizes) {
  const uint8_t pixel[3] = {1, 2, 3};
  EXPECT_ERROR(encode_png({pixel, 0, 1, 3}), invalid_argument);
  EXPECT_ERROR(encode_png({pixel, 1, -1, 3}), invalid_argument);
  EXPECT_ERROR(encode_png({pixel, 1, 1'000'001, 0}), invalid_argument);
}

TEST(EncodeMaskPng, DecodesToTheSameNumbers) {
  std::vector<uint8_t> narrow;
  std::vector<uint16_t> wide;
  for (int i = 0; i < 7 * 5; ++i) {
    narrow.push_back(static_cast<uint8_t>(i * 7));
    wide.push_back(static_cast<uint16_t>(i * 1871));
  }
  MaskDecoder decoder;
  // Without the last two columns.
  MaskView mask{.data = narrow.data(), .dtype = DType::u8, .width = 5, .height = 5, .stride = 7};
  MaskView decoded = decoder.decode(encode_mask_png(mask), MaskNumbers::values);
  ASSERT_EQ(decoded.dtype, DType::u8);
  EXPECT_EQ(decoded.width, 5);
  EXPECT_EQ(static_cast<const uint8_t*>(decoded.data)[2 * decoded.stride + 4], narrow[2 * 7 + 4]);
  mask.data = wide.data();
  mask.dtype = DType::u16;
  decoded = decoder.decode(encode_mask_png(mask), MaskNumbers::values);
  ASSERT_EQ(decoded.dtype, DType::u16);
  for (int i = 0; i < 25; ++i) {
    const int x = i % 5, y = i / 5;
    EXPECT_EQ(static_cast<const uint16_t*>(decoded.data)[y * decoded.stride + x],
              wide[static_cast<size_t>(7 * y + x)]);
  }
  EXPECT_EQ(encode_mask_png(mask), encode_mask_png(mask));
  mask.dtype = DType::i32;
  EXPECT_ERROR(encode_mask_png(mask), invalid_argument);
  mask.dtype = DType::u16;
  mask.height = 0;
  EXPECT_ERROR(encode_mask_png(mask), invalid_argument);
}

}  // namespace
}  // namespace ffkit
