#include <gtest/gtest.h>

#include <ffkit/format/error.h>
#include <ffkit/image/image_codec.h>

#include "expect_error.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::make_picture;
using testing::Picture;

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

}  // namespace
}  // namespace ffkit
