// A decoder that has decoded other pictures before gives what a fresh one gives, whatever is wrong
// with the picture: libjpeg itself keeps the tables of a picture for the next one.
#include "image_prelude.h"

namespace ffkit {
namespace {

using Bytes = std::vector<std::byte>;

// Pixels, or what was wrong.
using Outcome = std::variant<std::vector<uint8_t>, std::string>;

Outcome decode(ImageDecoder& decoder, const Bytes& image) {
  try {
    return testing::copy(decoder.decode(image)).rgb;
  } catch (const Error& e) {
    return e.what();
  }
}

Outcome decode_afresh(const Bytes& image) {
  ImageDecoder decoder;
  return decode(decoder, image);
}

bool is_good(const Outcome& outcome) {
  return std::holds_alternative<std::vector<uint8_t>>(outcome);
}

// The picture without its segments of this kind up to the first scan.
Bytes without(const Bytes& image, uint8_t marker) {
  Bytes rest(image.begin(), image.begin() + 2);
  size_t at = 2;
  while (at + 4 <= image.size()) {
    const auto kind = std::to_integer<uint8_t>(image[at + 1]);
    if (kind == 0xDA) break;
    const size_t length =
        2 + std::to_integer<size_t>(image[at + 2]) * 256 + std::to_integer<size_t>(image[at + 3]);
    if (kind != marker) rest.insert(rest.end(), &image[at], &image[at] + length);
    at += length;
  }
  rest.insert(rest.end(), image.begin() + static_cast<ptrdiff_t>(at), image.end());
  return rest;
}

constexpr uint8_t kDqt = 0xDB;
constexpr uint8_t kDht = 0xC4;

std::vector<Bytes> good_pictures() {
  std::vector<Bytes> pictures;
  for (const JpegKind& kind : std::vector<JpegKind>{{.quality = 30},
                                                    {.quality = 95, .optimized = true},
                                                    {.progressive = true, .quality = 60},
                                                    {.restart_interval = 3, .optimized = true},
                                                    {.stored = JCS_GRAYSCALE, .optimized = true},
                                                    {.stored = JCS_CMYK, .quality = 50}}) {
    pictures.push_back(encode_jpeg_as(make_picture(40, 33), kind));
  }
  return pictures;
}

TEST(ReusedJpegDecoder, TakesNoTablesFromThePictureBefore) {
  const std::vector<Bytes> good = good_pictures();
  std::vector<Bytes> lacking;
  for (const Bytes& picture : good) {
    lacking.push_back(without(picture, kDqt));
    lacking.push_back(without(picture, kDht));
    lacking.push_back(without(without(picture, kDqt), kDht));
  }
  EXPECT_FALSE(is_good(decode_afresh(lacking.front()))) << "no quantisation tables";
  EXPECT_TRUE(is_good(decode_afresh(lacking[1]))) << "libjpeg has Huffman tables of its own";
  EXPECT_FALSE(is_good(decode_afresh(without(good[2], kDht)))) << "but not for progressive scans";
  for (const Bytes& before : good) {
    for (const Bytes& picture : lacking) {
      const Outcome expected = decode_afresh(picture);
      ImageDecoder decoder;
      ASSERT_TRUE(is_good(decode(decoder, before)));
      EXPECT_TRUE(decode(decoder, picture) == expected) << "after a good picture";
      EXPECT_TRUE(decode(decoder, before) == decode_afresh(before)) << "after a damaged picture";
      EXPECT_TRUE(decode(decoder, picture) == expected) << "after both";
    }
  }
}

// Damage in the headers, where the tables are, and sometimes behind them.
TEST(ReusedJpegDecoder, DecodesDamagedPicturesAsAFreshOne) {
  const std::vector<Bytes> good = good_pictures();
  std::mt19937 random(11);
  ImageDecoder reused;
  int num_bad = 0;
  constexpr int kNumPictures = 1500;
  for (int i = 0; i < kNumPictures; ++i) {
    Bytes picture = good[random() % good.size()];
    const size_t end = random() % 4 == 0 ? picture.size() : std::min<size_t>(picture.size(), 650);
    for (unsigned k = 0; k < 1 + random() % 3; ++k) {
      picture[2 + random() % (end - 2)] = static_cast<std::byte>(random());
    }
    const Outcome expected = decode_afresh(picture);
    if (!is_good(expected)) ++num_bad;
    ASSERT_TRUE(decode(reused, picture) == expected) << i;
  }
  EXPECT_GT(num_bad, kNumPictures / 10);
  EXPECT_LT(num_bad, kNumPictures * 9 / 10);
}

TEST(ReusedJpegDecoder, ReadsPartsAsAFreshOne) {
  const Bytes good = encode_jpeg_as(make_picture(64, 64), {.optimized = true});
  const Bytes lacking = without(encode_jpeg_as(make_picture(64, 64, 2), {.optimized = true}), kDht);
  const Rect part{10, 20, 30, 30};
  const auto decode_part = [&](ImageDecoder& decoder) -> Outcome {
    try {
      return testing::copy(decoder.decode_region(lacking, part, 0, 0).pixels).rgb;
    } catch (const Error& e) {
      return e.what();
    }
  };
  ImageDecoder fresh;
  const Outcome expected = decode_part(fresh);
  ImageDecoder reused;
  decode(reused, good);
  EXPECT_TRUE(decode_part(reused) == expected);
}

TEST(ReusedJpegEncoder, EncodesAsAFreshOne) {
  const auto picture = make_picture(40, 33);
  JpegEncoder reused;
  Bytes out;
  for (const int quality : {95, 10, 95, 50}) {
    reused.encode(picture.view(), quality, out);
    EXPECT_TRUE(out == encode_jpeg(picture.view(), quality)) << quality;
  }
}

}  // namespace
}  // namespace ffkit
