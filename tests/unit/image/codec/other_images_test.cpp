// WebP, BMP, PPM and PGM: what is read besides JPEG and PNG. bitmaps/ has the kinds of BMP and PPM.
#include "bmp_builder.h"
#include "encode_webp.h"
#include "image_prelude.h"
#include "reference_python.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::encode_bmp;
using testing::encode_webp;

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
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
      ASSERT_EQ(region.x, region.wanted.x);
      ASSERT_EQ(region.y, region.wanted.y);
      for (int y = 0; y < rect.height; ++y) {
        const uint8_t* row = region.pixels.data + (region.wanted.y + y) * region.pixels.stride +
                             ptrdiff_t{3} * region.wanted.x;
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
    EXPECT_ERROR(decoder.decode(half), corrupt);
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

TEST(Webp, RefusesBrokenAnimationsAndHugeClaims) {
  // VP8X with the animation flag, then ANIM and nothing more.
  Bytes animation = bytes_of("RIFF");
  const auto add = [&](std::string_view text) {
    for (const char c : text) animation.push_back(std::byte(c));
  };
  using namespace std::string_view_literals;
  add("\x24\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x0f\0\0\x0f\0\0"sv);
  add("ANIM\x06\0\0\0\0\0\0\0\0\0"sv);
  EXPECT_ERROR(read_image_info(animation), corrupt);
  // A lossless header: 14 bits each of width - 1 and height - 1.
  Bytes huge = encode_webp(4, 4, make_picture(4, 4).rgb);
  const auto signature = std::find(huge.begin(), huge.end(), std::byte{0x2F});
  ASSERT_NE(signature, huge.end());
  for (int i = 1; i <= 3; ++i) signature[i] = std::byte{0xFF};
  signature[4] |= std::byte{0x0F};
  EXPECT_ERROR(ImageDecoder().read_info(huge), unsupported);
}

TEST(Webp, TakesTheFirstPictureOfAnAnimation) {
  const Picture first = make_picture(5, 4);
  const std::string still = text_of(encode_webp(5, 4, first.rgb));
  const auto u24 = [](uint32_t value) {
    return std::string{char(value & 0xFF), char(value >> 8 & 0xFF), char(value >> 16)};
  };
  const auto chunk = [](const std::string& name, const std::string& content) {
    std::string length(4, '\0');
    for (size_t i = 0; i < 4; ++i) length[i] = char(content.size() >> (8 * i) & 0xFF);
    return name + length + content + std::string(content.size() % 2, '\0');
  };
  // At (2, 2) of 9 x 7, to be blended; the background is no black.
  const std::string place = u24(1) + u24(1) + u24(4) + u24(3) + u24(40) + std::string(1, '\0');
  const std::string frame = chunk("ANMF", place + still.substr(12));
  const auto riff = [&](const std::string& frames) {
    return bytes_of(
        chunk("RIFF", "WEBP" + chunk("VP8X", std::string("\x02\0\0\0", 4) + u24(8) + u24(6)) +
                          chunk("ANIM", std::string("\x09\x08\x07\xFF\0\0", 6)) + frames));
  };
  const Bytes animation = riff(frame + frame);
  const ImageInfo info = read_image_info(animation);
  EXPECT_TRUE(info.is_animation);
  EXPECT_EQ(info.width, 9);
  EXPECT_EQ(info.height, 7);
  Picture expected{9, 7, std::vector<uint8_t>(9 * 7 * 3)};
  for (int y = 0; y < 4; ++y) {
    std::copy_n(first.at(0, y), 15, expected.rgb.begin() + ((y + 2) * 9 + 2) * 3);
  }
  EXPECT_EQ(copy(ImageDecoder().decode(animation)).rgb, expected.rgb);
  Bytes cut = animation;
  cut.resize(cut.size() - 20);
  EXPECT_ERROR(read_image_info(cut), corrupt);
}

TEST(Webp, SaysThatItsPixelsAreDamaged) {
  Bytes image = encode_webp(30, 20, make_picture(30, 20).rgb);
  for (size_t i = 30; i < 60; ++i) image[i] = std::byte(i * 37);
  EXPECT_ERROR(ImageDecoder().decode(image), corrupt);
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
