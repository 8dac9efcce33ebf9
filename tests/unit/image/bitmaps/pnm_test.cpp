// PPM, PGM and PBM: binary and text, of any largest value.
#include <initializer_list>

#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::copy;

using Bytes = std::vector<std::byte>;

Bytes pnm_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Ppm, TakesCommentsAndAnyWhiteSpace) {
  const Bytes image = pnm_bytes("P6#made by hand\n2\t# of two\r\n 1\n255 abcdef");
  EXPECT_EQ(copy(ImageDecoder().decode(image)).rgb,
            (std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(Ppm, RefusesNonsense) {
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 2 1 65536\n............")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 2 x 255\n......")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 0 1 255\n......")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 99999999999999999999 1 255\n")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 1 1 255")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P6 2147483647 2147483647 255\n")), corrupt);
  EXPECT_ERROR(read_image_info(pnm_bytes("P7\nWIDTH 1\nHEIGHT 1\n")), unsupported);
  EXPECT_ERROR(read_image_info(pnm_bytes("P2 2#x\n1 255\n1 2")), corrupt);
  Bytes out;
  EXPECT_ERROR(encode_ppm({nullptr, 0, 3, 0}, out), invalid_argument);
}

TEST(Ppm, IsRefusedWhenTooLongOrWide) {
  for (const char* size : {"1000001 1", "1 1000001"}) {
    Bytes image = pnm_bytes("P5 " + std::string(size) + " 255\n");
    image.resize(image.size() + 1'000'001);
    EXPECT_ERROR(ImageDecoder().decode(image), unsupported);
  }
}

TEST(Ppm, IsWrittenWithItsRowsBehindEachOther) {
  const Picture picture = make_picture(7, 3);
  const RgbView part{picture.at(2, 0), 4, 3, 3 * 7};
  Bytes out(1000);
  encode_ppm(part, out);
  EXPECT_EQ(out.size(), 11 + 36U);
  const Picture got = copy(ImageDecoder().decode(out));
  EXPECT_EQ(got.rgb, copy(part).rgb);
}

std::vector<uint8_t> grey(std::initializer_list<uint8_t> values) {
  std::vector<uint8_t> rgb;
  for (const uint8_t value : values) rgb.insert(rgb.end(), 3, value);
  return rgb;
}

std::vector<uint8_t> rgb_of(std::string_view text) {
  return copy(ImageDecoder().decode(pnm_bytes(text))).rgb;
}

using namespace std::string_view_literals;

TEST(Ppm, IsReadAsText) {
  EXPECT_EQ(rgb_of("P1\n# a bitmap\n3 2\n1 0 1\n011"), grey({0, 255, 0, 255, 0, 0}));
  EXPECT_EQ(rgb_of("P2 3 1 255\n0 # the first\n 128\r\n255\n"), grey({0, 128, 255}));
  EXPECT_EQ(rgb_of("P3 2 1 255\n1 2 3 4 5 6"), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_ERROR(rgb_of("P2 3 1 255\n0 1  "), corrupt);
  EXPECT_ERROR(rgb_of("P2 3 1 255\n0 1"), corrupt);
  EXPECT_ERROR(rgb_of("P2 3 1 200\n0 1 201"), corrupt);
  EXPECT_ERROR(rgb_of("P1 3 1\n012"), corrupt);
}

// Pillow's values: round(value / largest * 255), halves to even, and never more than 255.
TEST(Ppm, ScalesValuesOfAnotherMaximum) {
  EXPECT_EQ(rgb_of("P4 10 1\n\xA5\x40"sv), grey({0, 255, 0, 255, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(rgb_of("P5 4 1 2\n\0\1\2\3"sv), grey({0, 128, 255, 255}));
  EXPECT_EQ(rgb_of("P5 3 1 100\n\1\x32\x64"sv), grey({3, 128, 255}));
  EXPECT_EQ(rgb_of("P2 3 1 15\n0 7 15"), grey({0, 119, 255}));
  EXPECT_EQ(rgb_of("P6 1 1 1023\n\0\0\1\xFF\3\xFF"sv), (std::vector<uint8_t>{0, 127, 255}));
}

TEST(Ppm, KeepsSixteenBitsWhereThatIsAsked) {
  ImageDecoder decoder;
  const Bytes image = pnm_bytes("P5 3 2 65535\n\0\0\0\7\1\0\x12\x34\xFF\xFF\0\xFF"sv);
  EXPECT_TRUE(decoder.read_info(image).has_16_bits);
  const WideRgbView part = decoder.read_wide_region({1, 0, 2, 2});
  std::vector<uint16_t> red;
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x) red.push_back(part.data[y * part.stride + 3 * x]);
  }
  EXPECT_EQ(red, (std::vector<uint16_t>{7, 256, 0xFFFF, 0xFF}));
  EXPECT_EQ(copy(decoder.decode(image)).rgb, grey({0, 0, 1, 0x12, 255, 0}));  // the high byte
  const Bytes text = pnm_bytes("P2 1 1 1000 500");
  decoder.read_info(text);
  EXPECT_EQ(decoder.read_wide_region({0, 0, 1, 1}).data[2], 32768);
  const Bytes eight = pnm_bytes("P2 1 1 255 5");
  decoder.read_info(eight);
  EXPECT_ERROR(decoder.read_wide_region({0, 0, 1, 1}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
