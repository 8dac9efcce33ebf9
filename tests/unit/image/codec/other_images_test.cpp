// WebP, BMP, PPM and PGM: what is read besides JPEG and PNG.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include <ffkit/format/error.h>
#include <ffkit/image/image_codec.h>

#include "bmp_builder.h"
#include "encode_webp.h"
#include "expect_error.h"
#include "reference_python.h"
#include "temp_dir.h"
#include "test_images.h"

namespace ffkit {
namespace {

using testing::BmpKind;
using testing::copy;
using testing::encode_bmp;
using testing::encode_bmp_as;
using testing::encode_webp;
using testing::make_picture;
using testing::Picture;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes ppm_of(const Picture& picture) {
  Bytes out;
  encode_ppm(picture.view(), out);
  return out;
}

// The first channel of `picture` as a PGM.
Bytes pgm_of(const Picture& picture) {
  Bytes out = bytes_of("P5 " + std::to_string(picture.width) + " " +
                       std::to_string(picture.height) + " 255\n");
  for (size_t i = 0; i < picture.rgb.size(); i += 3) out.push_back(std::byte(picture.rgb[i]));
  return out;
}

struct OtherImage {
  std::string name;
  Bytes data;
  ImageEncoding encoding;
};

std::vector<OtherImage> all_encodings(const Picture& p) {
  return {{"lossless WebP", encode_webp(p.width, p.height, p.rgb), ImageEncoding::webp},
          {"lossy WebP", encode_webp(p.width, p.height, p.rgb, 80), ImageEncoding::webp},
          {"BMP", encode_bmp(p.width, p.height, p.rgb), ImageEncoding::bmp},
          {"BMP from the top", encode_bmp(p.width, p.height, p.rgb, true), ImageEncoding::bmp},
          {"PPM", ppm_of(p), ImageEncoding::ppm},
          {"PGM", pgm_of(p), ImageEncoding::ppm}};
}

TEST(OtherImages, HaveTheirSizeAndPixels) {
  const Picture picture = make_picture(53, 31);
  ImageDecoder decoder;
  for (const OtherImage& image : all_encodings(picture)) {
    SCOPED_TRACE(image.name);
    EXPECT_EQ(detect_image_encoding(image.data), image.encoding);
    const ImageInfo info = read_image_info(image.data);
    EXPECT_EQ(info.encoding, image.encoding);
    EXPECT_EQ(info.width, 53);
    EXPECT_EQ(info.height, 31);
    EXPECT_EQ(info.num_components, image.name == "PGM" ? 1 : 3);
    const Picture pixels = copy(decoder.decode(image.data));
    ASSERT_EQ(pixels.rgb.size(), picture.rgb.size());
    for (size_t i = 0; i < pixels.rgb.size(); ++i) {
      if (image.name == "lossy WebP") break;
      const size_t of = image.name == "PGM" ? i / 3 * 3 : i;
      ASSERT_EQ(pixels.rgb[i], picture.rgb[of]) << i;
    }
  }
  EXPECT_EQ(to_string(ImageEncoding::webp), "webp");
  EXPECT_EQ(to_string(ImageEncoding::bmp), "bmp");
  EXPECT_EQ(to_string(ImageEncoding::ppm), "ppm");
}

TEST(OtherImages, GiveRegionsOfTheWhole) {
  const Picture picture = make_picture(61, 43);
  std::mt19937 random(5);
  ImageDecoder decoder;
  for (const OtherImage& image : all_encodings(picture)) {
    const Picture whole = copy(decoder.decode(image.data));
    for (int i = 0; i < 100; ++i) {
      Rect rect;
      rect.width = 1 + static_cast<int>(random() % 61);
      rect.height = 1 + static_cast<int>(random() % 43);
      rect.x = static_cast<int>(random() % static_cast<unsigned>(62 - rect.width));
      rect.y = static_cast<int>(random() % static_cast<unsigned>(44 - rect.height));
      const auto region = decoder.decode_region(image.data, rect, 1, 1);
      ASSERT_EQ(region.width, rect.width);  // never scaled
      ASSERT_EQ(region.height, rect.height);
      ASSERT_EQ(region.x, region.source.x);
      ASSERT_EQ(region.y, region.source.y);
      for (int y = 0; y < rect.height; ++y) {
        const uint8_t* row = region.pixels.data + (region.source.y + y) * region.pixels.stride +
                             ptrdiff_t{3} * region.source.x;
        ASSERT_EQ(std::memcmp(row, whole.at(rect.x, rect.y + y), 3 * size_t(rect.width)), 0)
            << image.name << ", row " << y;
      }
    }
  }
}

TEST(OtherImages, FailWhenTruncatedAtAnyLength) {
  ImageDecoder decoder;
  for (const OtherImage& image : all_encodings(make_picture(40, 30))) {
    for (size_t length = 0; length < image.data.size(); length += 1 + length / 50) {
      EXPECT_THROW(decoder.decode(std::span(image.data).first(length)), Error)
          << image.name << " " << length;
    }
    const auto half = std::span(image.data).first(image.data.size() / 2);
    EXPECT_ERROR(decoder.decode(half), corrupt, "truncated");
  }
}

TEST(OtherImages, SurviveFlippedBytes) {
  std::mt19937 random(3);
  ImageDecoder decoder;
  for (const OtherImage& image : all_encodings(make_picture(96, 70))) {
    int num_failed = 0;
    for (int i = 0; i < 400; ++i) {
      Bytes broken = image.data;
      for (int k = 0; k < 3; ++k) broken[random() % 60] = std::byte(random());
      try {
        decoder.decode_region(broken, {3, 5, 4, 5}, 1, 1);
        decoder.decode(broken);
      } catch (const Error&) {
        ++num_failed;
      }
    }
    EXPECT_GT(num_failed, 20) << image.name;
    EXPECT_EQ(copy(decoder.decode(image.data)).width, 96);
  }
}

TEST(Ppm, TakesCommentsAndAnyWhiteSpace) {
  const Bytes image = bytes_of("P6#made by hand\n2\t# of two\r\n 1\n255 abcdef");
  EXPECT_EQ(copy(ImageDecoder().decode(image)).rgb,
            (std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(Ppm, RefusesOtherValuesThanBytesAndNonsense) {
  EXPECT_ERROR(read_image_info(bytes_of("P6 2 1 65535\n............")), unsupported,
               "go up to 65535; expected 255");
  EXPECT_ERROR(read_image_info(bytes_of("P6 2 x 255\n......")), corrupt, "gives no height");
  EXPECT_ERROR(read_image_info(bytes_of("P6 0 1 255\n......")), corrupt, "gives no width");
  EXPECT_ERROR(read_image_info(bytes_of("P6 99999999999999999999 1 255\n")), corrupt,
               "gives no width");
  EXPECT_ERROR(read_image_info(bytes_of("P6 1 1 255")), corrupt, "no end");
  EXPECT_ERROR(read_image_info(bytes_of("P6 2147483647 2147483647 255\n")), corrupt, "truncated");
  EXPECT_ERROR(read_image_info(bytes_of("P3 1 1 255\n1 2 3")), unsupported, "begins with 50 33");
  Bytes out;
  EXPECT_ERROR(encode_ppm({nullptr, 0, 3, 0}, out), invalid_argument, "0 x 3");
}

TEST(Ppm, IsRefusedWhenTooLongOrWide) {
  for (const char* size : {"1000001 1", "1 1000001"}) {
    Bytes image = bytes_of("P5 " + std::string(size) + " 255\n");
    image.resize(image.size() + 1'000'001);
    EXPECT_ERROR(ImageDecoder().decode(image), unsupported, "more than the 1000000 each way");
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

TEST(Bmp, ReadsEveryKind) {
  ImageDecoder decoder;
  const auto expect_pixels = [&](const Bytes& data, const std::vector<uint8_t>& rgb) {
    EXPECT_EQ(copy(decoder.decode(data)).rgb, rgb);
  };
  const std::vector<std::array<uint8_t, 3>> two = {{10, 20, 30}, {40, 50, 60}};
  expect_pixels(encode_bmp_as(3, 2, {1, 0, 1, 0, 0, 1}, {.bits = 1, .palette = two}),
                {40, 50, 60, 10, 20, 30, 40, 50, 60, 10, 20, 30, 10, 20, 30, 40, 50, 60});
  expect_pixels(encode_bmp_as(3, 1, {1, 0, 15}, {.bits = 4, .palette = two}),
                {40, 50, 60, 10, 20, 30, 0, 0, 0});  // a colour that is not given is black
  expect_pixels(encode_bmp_as(2, 1, {1, 200}, {.bits = 8, .top_down = true, .palette = two}),
                {40, 50, 60, 0, 0, 0});
  expect_pixels(encode_bmp_as(1, 2, {0x010203, 0x040506}, {}), {1, 2, 3, 4, 5, 6});
  expect_pixels(encode_bmp_as(1, 1, {0x7F010203}, {.bits = 32}), {1, 2, 3});
  BmpKind fields{.bits = 32, .masks = {0xFF, 0xFF00, 0xFF000000}};
  expect_pixels(encode_bmp_as(1, 1, {0x03000201}, fields), {1, 2, 3});
  fields.header_bytes = 124;
  expect_pixels(encode_bmp_as(1, 1, {0x03000201}, fields), {1, 2, 3});
}

TEST(Bmp, NamesWhatItDoesNotRead) {
  const auto with = [](size_t offset, std::vector<uint8_t> bytes) {
    Bytes image = encode_bmp_as(1, 1, {0}, {.bits = 8, .palette = {{1, 2, 3}}});
    for (size_t i = 0; i < bytes.size(); ++i) image[offset + i] = std::byte(bytes[i]);
    return image;
  };
  EXPECT_ERROR(read_image_info(with(14, {12})), unsupported, "header of 12 bytes");
  EXPECT_ERROR(read_image_info(with(28, {16})), unsupported, "16 bits a pixel");
  EXPECT_ERROR(read_image_info(with(30, {1})), unsupported, "compression 1, 8 bits");
  EXPECT_ERROR(read_image_info(with(46, {255, 255, 255, 255})), corrupt, "palette of 4294967295");
  EXPECT_ERROR(read_image_info(with(18, {0})), corrupt, "claims 0 x 1 pixels");
  EXPECT_ERROR(read_image_info(with(22, {0, 0, 0, 0x80})), corrupt, "claims 1 x -2147483648");
  EXPECT_ERROR(read_image_info(with(10, {255, 255, 255, 255})), corrupt, "truncated BMP: 0 bytes");
  EXPECT_ERROR(read_image_info(with(18, {255, 255, 255, 0x7F})), corrupt, "truncated BMP");
  const Bytes image = encode_bmp_as(1, 1, {0}, {.bits = 32, .masks = {0x3FF, 0xFFC00, 0x3FF00000}});
  EXPECT_ERROR(read_image_info(image), unsupported, "colour mask 000003ff");
}

TEST(Webp, RefusesAnimationsAndHugeClaims) {
  // VP8X with the animation flag, then ANIM and an ANMF without content.
  Bytes animation = bytes_of("RIFF");
  const auto add = [&](std::string_view text) {
    for (const char c : text) animation.push_back(std::byte(c));
  };
  using namespace std::string_view_literals;
  add("\x40\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0"sv);
  add("ANIM\x06\0\0\0\0\0\0\0\0\0"sv);
  EXPECT_ERROR(read_image_info(animation), unsupported, "animation");
  // A lossless header: 14 bits each of width - 1 and height - 1.
  Bytes huge = encode_webp(4, 4, make_picture(4, 4).rgb);
  const auto signature = std::find(huge.begin(), huge.end(), std::byte{0x2F});
  ASSERT_NE(signature, huge.end());
  for (int i = 1; i <= 3; ++i) signature[i] = std::byte{0xFF};
  signature[4] |= std::byte{0x0F};
  EXPECT_ERROR(ImageDecoder().read_info(huge), unsupported, "claims 16384 x 16384 pixels");
}

// Pillow saves the same picture in many forms; convert("RGB") of each is what decode() must give.
TEST(OtherImages, AgreeWithPillow) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(testing::run_python(
      "import numpy as np\n"
      "from PIL import Image\n"
      "rng = np.random.default_rng(1)\n"
      "a = rng.integers(0, 256, (37, 29, 4), dtype=np.uint8)\n"
      "a[5:20] = a[5:20, :1]\n"
      "rgba = Image.fromarray(a, 'RGBA')\n"
      "rgb = rgba.convert('RGB')\n"
      "images = [('1.bmp', rgb.convert('1')), ('l.bmp', rgb.convert('L')), ('p.bmp', "
      "rgb.quantize(200)), ('p16.bmp', rgb.quantize(16)),\n"
      "          ('rgb.bmp', rgb), ('rgba.bmp', rgba), ('rgb.ppm', rgb), ('l.pgm', "
      "rgb.convert('L')),\n"
      "          ('lossless.webp', rgb), ('rgba.webp', rgba), ('lossy.webp', rgb)]\n"
      "out = []\n"
      "for name, image in images:\n"
      "  options = {'lossless': True, 'exact': True} if name in ('lossless.webp', 'rgba.webp') "
      "else {}\n"
      "  image.save(name, **options)\n"
      "  out.append(np.asarray(Image.open(name).convert('RGB')).ravel())\n"
      "np.concatenate(out).tofile('pixels')\n",
      dir.path()));
  const auto expected = testing::read_values<uint8_t>(dir / "pixels");
  auto begin = expected.begin();
  ImageDecoder decoder;
  for (const char* name : {"1.bmp", "l.bmp", "p.bmp", "p16.bmp", "rgb.bmp", "rgba.bmp", "rgb.ppm",
                           "l.pgm", "lossless.webp", "rgba.webp", "lossy.webp"}) {
    SCOPED_TRACE(name);
    const Picture pixels = copy(decoder.decode(testing::read_bytes(dir / name)));
    ASSERT_EQ(pixels.rgb.size(), 37U * 29 * 3);
    EXPECT_TRUE(std::equal(pixels.rgb.begin(), pixels.rgb.end(), begin));
    begin += 37 * 29 * 3;
  }
}

}  // namespace
}  // namespace ffkit
