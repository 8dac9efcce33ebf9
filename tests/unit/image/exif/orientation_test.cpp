#include <ffkit/image/exif.h>

#include "image_prelude.h"

namespace ffkit {
namespace {

using std::string_literals::operator""s;
using testing::exif_data;
using testing::with_exif;

TEST(TurnUpright, GivesWhatPillowGives) {
  // Pillow 13: ImageOps.exif_transpose() of 123 above 456.
  const std::array<std::string_view, 8> expected = {"123 456",  "321 654",  "654 321",  "456 123",
                                                    "14 25 36", "41 52 63", "63 52 41", "36 25 14"};
  std::vector<uint8_t> rgb(32, 0xEE);  // rows of 3 pixels, 16 bytes apart
  for (size_t i = 0; i < 6; ++i) std::fill_n(&rgb[i / 3 * 16 + i % 3 * 3], 3, uint8_t('1' + i));
  std::vector<uint8_t> memory;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const RgbView view = turn_upright({rgb.data(), 3, 2, 16}, orientation, memory);
    std::string text;
    for (int y = 0; y < view.height; ++y) {
      for (int x = 0; x < view.width; ++x) text += char(view.data[y * view.stride + 3 * x + 1]);
      text += y + 1 < view.height ? " " : "";
    }
    EXPECT_EQ(text, expected[size_t(orientation - 1)]) << orientation;
  }
  EXPECT_THROW(turn_upright({rgb.data(), 3, 2, 16}, 0, memory), Error);
  EXPECT_THROW(turn_upright({rgb.data(), 3, 2, 16}, 9, memory), Error);
}

TEST(ExifOrientation, IsReadFromEveryKindThatHasIt) {
  const auto picture = make_picture(20, 12);
  const auto jpeg = encode_jpeg(picture.view());
  const auto png = encode_png(picture.view());
  EXPECT_EQ(exif_orientation(jpeg), 1);
  EXPECT_EQ(exif_orientation(png), 1);
  EXPECT_EQ(exif_orientation({}), 1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool little : {false, true}) {
      const std::string exif = exif_data(orientation, little);
      const auto turned = with_exif(jpeg, exif);
      EXPECT_EQ(exif_orientation(turned), orientation);
      EXPECT_EQ(exif_orientation(with_exif(png, exif)), orientation);
      std::vector<std::byte> dct;
      ASSERT_FALSE(encode_dct_picture(turned, dct));
      EXPECT_EQ(exif_orientation(dct), orientation);
      // The file of a WebP, as far as it matters here.
      std::string webp = "RIFF\0\0\0\0WEBPVP8X\x03\0\0\0abc\0EXIF"s + char(exif.size()) + "\0\0\0"s;
      webp += exif;
      const auto bytes = std::as_bytes(std::span(webp));
      EXPECT_EQ(exif_orientation(bytes), orientation);
    }
  }
}

TEST(ExifOrientation, IsUprightWhereTheDataSayNothingElse) {
  const auto jpeg = encode_jpeg(make_picture(20, 12).view());
  for (const int value : {0, 9, 255, 65535}) {
    EXPECT_EQ(exif_orientation(with_exif(jpeg, exif_data(value, true))), 1) << value;
  }
  const std::string exif = exif_data(6, true);
  for (size_t size = 0; size < exif.size(); ++size) {
    EXPECT_EQ(exif_orientation(with_exif(jpeg, exif.substr(0, size))), 1) << size;
  }
  // Other bytes may say anything, but nothing out of bounds.
  for (size_t i = 0; i < exif.size(); ++i) {
    for (const char byte : {'\0', '\1', '\7', '\x7F', '\xFF'}) {
      std::string other = exif;
      other[i] = byte;
      const int orientation = exif_orientation(with_exif(jpeg, other));
      EXPECT_TRUE(orientation >= 1 && orientation <= 8) << i;
    }
  }
  // Behind other segments, fill bytes and bytes of none; not behind the header.
  const auto before = [&](std::string_view text) {
    auto image = with_exif(jpeg, exif);
    const auto bytes = std::as_bytes(std::span(text));
    image.insert(image.begin() + 2, bytes.begin(), bytes.end());
    return exif_orientation(image);
  };
  EXPECT_EQ(before(std::string_view("\xFF\xFE\0\x04xx", 6)), 6);
  EXPECT_EQ(before(std::string_view("\xFF\xE1\0\x04xx\xFF\xFF", 8)), 6);
  EXPECT_EQ(before(std::string_view("\xFF\xE1\xFF\xFF", 4)), 1);
  EXPECT_EQ(before(std::string_view("\xFF\xD9", 2)), 1);
}

}  // namespace
}  // namespace ffkit
