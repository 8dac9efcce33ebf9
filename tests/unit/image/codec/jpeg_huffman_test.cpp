#include <gtest/gtest.h>

#include <random>

#include <ffkit/base/error.h>
#include <ffkit/image/image_codec.h>

#include "codec/jpeg_check_picture.h"
#include "codec/jpeg_decoder.h"
#include "codec/jpeg_hooks.h"
#include "encode_for_test.h"
#include "jpeg/libjpeg.h"
#include "shared_data.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::decode_with_libjpeg;
using testing::encode_jpeg_as;
using testing::JpegKind;
using testing::make_picture;
using testing::Picture;

bool attaches(const std::vector<std::byte>& image) {
  if (!JpegHuffman::can_take(image)) return false;
  JpegErrors errors;
  jpeg_decompress_struct info = {};
  info.err = errors.base();
  JpegHuffman huffman;
  bool result = false;
  errors.guard(0, [&] {
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image.data()), image.size());
    jpeg_read_header(&info, TRUE);
    jpeg_start_decompress(&info);
    result = huffman.attach(info, 0, static_cast<int>(info.MCUs_per_row) - 1);
  });
  jpeg_destroy_decompress(&info);
  return result;
}

TEST(JpegHuffman, TakesTheUsualJpegAndLeavesTheOthers) {
  const Picture picture = make_picture(60, 50);
  EXPECT_TRUE(attaches(encode_jpeg(picture.view())));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.optimized = true})));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE})));
  EXPECT_TRUE(attaches(encode_jpeg_as(picture, {.stored = JCS_CMYK})));
  EXPECT_FALSE(attaches(encode_jpeg_as(picture, {.progressive = true})));
  EXPECT_FALSE(attaches(encode_jpeg_as(picture, {.restart_interval = 4})));
}

// libjpeg has other decoders for these, of which nothing may be replaced.
TEST(JpegHuffman, NeverReachesOtherKindsOfFrames) {
  const Picture picture = make_picture(60, 50);
  const auto baseline = encode_jpeg(picture.view());
  ASSERT_TRUE(JpegHuffman::can_take(baseline));
  const auto arithmetic = encode_jpeg_as(picture, {.arithmetic = true});
  EXPECT_FALSE(JpegHuffman::can_take(arithmetic));
  EXPECT_EQ(copy(ImageDecoder().decode(arithmetic)).rgb, decode_with_libjpeg(arithmetic).rgb);
  // The same with the frame's marker changed: C3 and C7 are lossless, C9 to CB arithmetic.
  size_t frame = 2;
  while (baseline[frame + 1] != std::byte{0xC0}) {
    frame += 2 + (std::to_integer<size_t>(baseline[frame + 2]) << 8) +
             std::to_integer<size_t>(baseline[frame + 3]);
  }
  for (unsigned kind = 0xC0; kind <= 0xCF; ++kind) {
    if (kind == 0xC4 || kind == 0xC8 || kind == 0xCC) continue;  // no frames
    auto other = baseline;
    other[frame + 1] = static_cast<std::byte>(kind);
    EXPECT_EQ(JpegHuffman::can_take(other), kind <= 0xC1) << kind;
  }
  for (size_t size = 0; size <= frame + 3; ++size) {
    EXPECT_FALSE(JpegHuffman::can_take(std::span(baseline).first(size))) << size;
  }
}

TEST(JpegHuffman, ChecksItselfWithTheBuiltInPicture) {
  EXPECT_EQ(jpeg_huffman_decoder(), JpegHuffmanDecoder::own);
  std::vector<std::byte> picture(kJpegCheckPicture.size());
  std::memcpy(picture.data(), kJpegCheckPicture.data(), picture.size());
  EXPECT_TRUE(attaches(picture));
  EXPECT_TRUE(JpegDecoder::hooks_agree(picture));
  // What it does not take, or gives up, is no agreement.
  EXPECT_FALSE(
      JpegDecoder::hooks_agree(encode_jpeg_as(make_picture(40, 24), {.progressive = true})));
  auto broken = picture;
  std::fill(broken.end() - 60, broken.end() - 2, std::byte{0x7F});
  EXPECT_FALSE(JpegDecoder::hooks_agree(broken));
}

// Everything from flat to pure noise: short codes, codes beyond the lookup, runs of 16, blocks
// without an end.
std::vector<Picture> pictures() {
  std::vector<Picture> list = {make_picture(203, 131), make_picture(9, 7)};
  list.push_back({64, 64, std::vector<uint8_t>(64 * 64 * 3, 77)});
  std::mt19937 random(5);
  Picture noise{150, 90, std::vector<uint8_t>(150 * 90 * 3)};
  for (uint8_t& value : noise.rgb) value = (random() & 1) != 0 ? 255 : 0;
  list.push_back(noise);
  for (uint8_t& value : noise.rgb) value = static_cast<uint8_t>(random());
  list.push_back(noise);
  return list;
}

TEST(JpegHuffman, GivesLibjpegsPixels) {
  ImageDecoder decoder;
  for (const Picture& picture : pictures()) {
    for (int quality : {3, 40, 75, 92, 100}) {
      for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2)}) {
        for (bool optimized : {false, true}) {
          const auto image = encode_jpeg_as(
              picture, {.h_samp = h, .v_samp = v, .quality = quality, .optimized = optimized});
          ASSERT_EQ(copy(decoder.decode(image)).rgb, decode_with_libjpeg(image).rgb)
              << picture.width << " quality " << quality << " " << h << "x" << v;
        }
      }
      const auto grey = encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE, .quality = quality});
      ASSERT_EQ(copy(decoder.decode(grey)).rgb, decode_with_libjpeg(grey).rgb);
    }
  }
}

// Regions skip blocks above and beside them; the noise makes every way of ending a block occur.
TEST(JpegHuffman, SkipsWhatARegionLeavesOut) {
  std::mt19937 random(6);
  ImageDecoder decoder;
  for (const Picture& picture : pictures()) {
    for (int quality : {3, 75, 100}) {
      const auto image = encode_jpeg_as(picture, {.quality = quality, .optimized = quality == 75});
      const Picture whole = decode_with_libjpeg(image);
      for (int i = 0; i < 40; ++i) {
        Rect rect;
        rect.width = 1 + static_cast<int>(random() % static_cast<unsigned>(picture.width));
        rect.height = 1 + static_cast<int>(random() % static_cast<unsigned>(picture.height));
        rect.x = static_cast<int>(random() % static_cast<unsigned>(picture.width - rect.width + 1));
        rect.y =
            static_cast<int>(random() % static_cast<unsigned>(picture.height - rect.height + 1));
        const auto region = decoder.decode_region(image, rect, 0, 0);
        for (int y = 0; y < rect.height; ++y) {
          const uint8_t* row = region.pixels.data + (region.wanted.y + y) * region.pixels.stride +
                               ptrdiff_t{3} * region.wanted.x;
          ASSERT_EQ(std::memcmp(row, whole.at(rect.x, rect.y + y), 3 * size_t(rect.width)), 0);
        }
      }
    }
  }
}

TEST(JpegHuffman, LeavesBrokenScansToLibjpeg) {
  std::mt19937 random(8);
  ImageDecoder decoder;
  const auto image = encode_jpeg(make_picture(160, 120).view());
  int num_irregular = 0;
  for (int i = 0; i < 600; ++i) {
    auto broken = image;
    for (int k = 0; k < 4; ++k) {
      broken[700 + random() % (image.size() - 702)] = std::byte(random());
    }
    long num_warnings = 0;
    const Picture expected = decode_with_libjpeg(broken, &num_warnings);
    Picture got;
    try {
      got = copy(decoder.decode(broken));
    } catch (const Error&) {
      // Where the data runs out, libjpeg's own source goes on with grey.
      EXPECT_TRUE(expected.rgb.empty() || num_warnings > 0);
      ++num_irregular;
      continue;
    }
    ASSERT_EQ(got.rgb, expected.rgb) << i;
    if (num_warnings > 0) ++num_irregular;
  }
  EXPECT_GT(num_irregular, 10);
}

}  // namespace
}  // namespace ffkit
