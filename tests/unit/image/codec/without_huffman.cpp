// The codecs built with FFKIT_JPEG_HUFFMAN off: libjpeg does all of it, and the pixels are the
// same.
#include <gtest/gtest.h>

#include <ffkit/base/error.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "codec/jpeg_decoder.h"
#include "encode_for_test.h"
#include "test_images.h"

namespace ffkit {
namespace {

TEST(WithoutJpegHuffman, LibjpegDecodesTheSamePixels) {
  EXPECT_EQ(jpeg_huffman_decoder(), JpegHuffmanDecoder::libjpeg);
  EXPECT_FALSE(JpegHuffman::is_built());
  const auto image = encode_jpeg(testing::make_picture(160, 120).view());
  EXPECT_EQ(testing::copy(ImageDecoder().decode(image)).rgb,
            testing::decode_with_libjpeg(image).rgb);
}

// It is made a JPEG again.
TEST(WithoutJpegHuffman, TheDctCodeGivesTheSamePixels) {
  ImageDecoder decoder;
  for (const auto& picture : {testing::make_picture(160, 120), testing::make_picture(33, 70)}) {
    const auto jpeg = encode_jpeg(picture.view());
    std::vector<std::byte> dct;
    ASSERT_FALSE(encode_dct_picture(jpeg, dct));
    EXPECT_EQ(decode_dct_to_jpeg(dct), jpeg);
    EXPECT_EQ(read_image_info(dct).height, picture.height);
    EXPECT_EQ(testing::copy(decoder.decode(dct)).rgb, testing::decode_with_libjpeg(jpeg).rgb);
    const Rect part{10, 20, 20, 30};
    const auto region = testing::copy(decoder.decode_region(dct, part, 10, 10).pixels);
    EXPECT_EQ(region.rgb, testing::copy(decoder.decode_region(jpeg, part, 10, 10).pixels).rgb);
    dct[dct.size() - 30] ^= std::byte{0xFF};
    dct[dct.size() - 17] ^= std::byte{0xFF};
    try {
      decoder.decode(dct);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
    }
  }
}

}  // namespace
}  // namespace ffkit
