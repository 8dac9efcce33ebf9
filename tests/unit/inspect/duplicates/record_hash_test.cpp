#include <bit>

#include <ffkit/image/dct_picture.h>

#include "duplicates/hash_file.h"
#include "test_images.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

ContentHash hash_of_text(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text)));
}

// What the reference implementation gives (SMHasher; Python's mmh3.hash64 has the same).
TEST(ContentHash, IsMurmurHash3) {
  EXPECT_EQ(hash_of_text(""), (ContentHash{0, 0}));
  EXPECT_EQ(hash_of_text("hello"), (ContentHash{0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19}));
  EXPECT_EQ(hash_of_text("The quick brown fox jumps over the lazy dog"),
            (ContentHash{0xE34BBC7BBC071B6C, 0x7A433CA9C49A9347}));
}

TEST(ContentHash, DependsOnEveryByteOfEveryLength) {
  std::set<ContentHash> seen;
  int64_t num_texts = 0;
  for (size_t length = 1; length < 50; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string text(length, 'a');
      text[at] = 'b';
      seen.insert(hash_of_text(text));
      ++num_texts;
    }
  }
  EXPECT_EQ(std::ssize(seen), num_texts);
}

using testing::make_picture;
using testing::Picture;

std::vector<std::byte> raw(const Picture& picture) {
  std::vector<std::byte> bytes;
  encode_ppm(picture.view(), bytes);
  return bytes;
}

Picture one_colour(int width, int height, uint8_t level) {
  return {width, height, std::vector<uint8_t>(size_t(width) * size_t(height) * 3, level)};
}

TEST(PictureHash, IsTheSameOfTheSamePixels) {
  PictureHasher hasher;
  const Picture picture = make_picture(200, 150, 3);
  const PictureHash hash = hasher.hash(raw(picture));
  EXPECT_FALSE(hash.is_plain);
  // The median parts them in halves.
  EXPECT_EQ(std::popcount(hash.bits), 32);
  EXPECT_EQ(hasher.hash(encode_png(picture.view())).bits, hash.bits);
}

TEST(PictureHash, OfAJpegIsThatOfItsDctCode) {
  PictureHasher hasher;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const std::vector<std::byte> jpeg = encode_jpeg(make_picture(500, 375, seed).view(), 80);
    std::vector<std::byte> code;
    ASSERT_EQ(encode_dct_picture(jpeg, code), std::nullopt);
    EXPECT_EQ(hasher.hash(code).bits, hasher.hash(jpeg).bits) << seed;
  }
}

// A JPEG of 640 x 480 is decoded at a quarter of its size. These pictures are busier than
// photographs, of which 419 of 420 are within 4.
TEST(PictureHash, OfAJpegDecodedSmallerIsNearThatOfItsPixels) {
  PictureHasher hasher;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const Picture picture = make_picture(640, 480, seed);
    const uint64_t of_pixels = hasher.hash(raw(picture)).bits;
    const uint64_t of_jpeg = hasher.hash(encode_jpeg(picture.view(), 90)).bits;
    EXPECT_LE(std::popcount(of_pixels ^ of_jpeg), 8) << seed;
  }
}

TEST(PictureHash, KnowsPlainPictures) {
  PictureHasher hasher;
  for (const uint8_t level : {0, 128, 255}) {
    EXPECT_TRUE(hasher.hash(raw(one_colour(300, 200, level))).is_plain);
    EXPECT_TRUE(hasher.hash(encode_jpeg(one_colour(300, 200, level).view(), 60)).is_plain);
  }
  Picture slope = one_colour(256, 200, 0);
  for (size_t i = 0; i < slope.rgb.size(); ++i) slope.rgb[i] = static_cast<uint8_t>(i / 3 % 256);
  EXPECT_TRUE(hasher.hash(raw(slope)).is_plain);
  EXPECT_TRUE(hasher.hash(encode_jpeg(slope.view(), 60)).is_plain);
}

TEST(PictureHash, OfPicturesOfAnySize) {
  PictureHasher hasher;
  for (const auto& [width, height] : {std::pair(1, 1), {1, 900}, {2000, 3}, {31, 33}, {32, 32}}) {
    const Picture picture = make_picture(width, height, 9);
    const PictureHash hash = hasher.hash(raw(picture));
    EXPECT_EQ(hasher.hash(encode_png(picture.view())).bits, hash.bits);
    EXPECT_EQ(hash.is_plain, width == 1 || height <= 3) << width << " x " << height;
  }
}

}  // namespace
}  // namespace ffkit
