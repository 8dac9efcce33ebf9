// The codecs built with FFKIT_JPEG_HUFFMAN off: libjpeg does all of it, and the pixels are the same.
#include <gtest/gtest.h>

#include <ffkit/image/image_codec.h>

#include "codec/jpeg_huffman.h"
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

}  // namespace
}  // namespace ffkit
