#include <nlohmann/json.hpp>

#include "image_prelude.h"
#include "sha256.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::PngKind;
using testing::read_bytes;

constexpr std::byte kFrameMarker[] = {std::byte{0xff}, std::byte{0xc0}};  // SOF0

std::vector<JpegKind> all_kinds() {
  std::vector<JpegKind> kinds;
  const std::pair<int, int> samplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}};
  for (auto [h, v] : samplings) {
    for (bool progressive : {false, true}) {
      for (int restart : {0, 3}) kinds.push_back({h, v, progressive, restart});
    }
  }
  kinds.push_back({.stored = JCS_GRAYSCALE});
  kinds.push_back({.stored = JCS_RGB});
  kinds.push_back({.stored = JCS_CMYK});
  kinds.push_back({.stored = JCS_YCCK});
  kinds.push_back({.progressive = true, .stored = JCS_YCCK});
  return kinds;
}

std::string describe(const JpegKind& kind) {
  return fmt::format("{}x{} progressive {} restart {} stored {}", kind.h_samp, kind.v_samp,
                     kind.progressive, kind.restart_interval, static_cast<int>(kind.stored));
}

double mean_difference(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

TEST(DetectImageEncoding, GoesByTheFirstBytes) {
  const auto jpeg = encode_jpeg(make_picture(8, 8).view());
  const auto png = encode_png_as(1, 1, {1, 2, 3}, {});
  EXPECT_EQ(detect_image_encoding(jpeg), ImageEncoding::jpeg);
  EXPECT_EQ(detect_image_encoding(png), ImageEncoding::png);
  EXPECT_EQ(detect_image_encoding({}), ImageEncoding::unknown);
  EXPECT_EQ(detect_image_encoding(std::span(png).first(7)), ImageEncoding::unknown);
  EXPECT_EQ(to_string(ImageEncoding::jpeg), "jpeg");
  EXPECT_EQ(to_string(ImageEncoding::png), "png");
  EXPECT_EQ(to_string(ImageEncoding::unknown), "unknown");
}

TEST(ReadImageInfo, GivesSizeAndStoredComponents) {
  const Picture picture = make_picture(37, 21);
  for (const JpegKind& kind : all_kinds()) {
    const ImageInfo info = read_image_info(encode_jpeg_as(picture, kind));
    EXPECT_EQ(info.encoding, ImageEncoding::jpeg);
    EXPECT_EQ(info.width, 37);
    EXPECT_EQ(info.height, 21);
    const bool four = kind.stored == JCS_CMYK || kind.stored == JCS_YCCK;
    EXPECT_EQ(info.num_components, four ? 4 : kind.stored == JCS_GRAYSCALE ? 1 : 3);
  }
  const ImageInfo info = read_image_info(
      encode_png_as(3, 2, std::vector<uint8_t>(24), {.color_type = PNG_COLOR_TYPE_RGB_ALPHA}));
  EXPECT_EQ(info.encoding, ImageEncoding::png);
  EXPECT_EQ(info.width, 3);
  EXPECT_EQ(info.height, 2);
  EXPECT_EQ(info.num_components, 4);
}

TEST(ImageDecoder, GivesBackWhatWasEncoded) {
  const Picture picture = make_picture(101, 67);
  ImageDecoder decoder;
  const Picture at_95 = copy(decoder.decode(encode_jpeg(picture.view(), 95)));
  ASSERT_EQ(at_95.width, 101);
  ASSERT_EQ(at_95.height, 67);
  const double loss_95 = mean_difference(picture, at_95);
  const double loss_30 =
      mean_difference(picture, copy(decoder.decode(encode_jpeg(picture.view(), 30))));
  EXPECT_LT(loss_95, 16);  // subsampled chroma of a busy picture
  EXPECT_LT(loss_95, loss_30);
  const Picture full_chroma =
      copy(decoder.decode(encode_jpeg_as(picture, {.h_samp = 1, .v_samp = 1, .quality = 100})));
  EXPECT_LT(mean_difference(picture, full_chroma), 1);
}

TEST(JpegEncoder, GivesTheSameBytesAsAlone) {
  JpegEncoder encoder;
  std::vector<std::byte> out;
  for (const auto& [width, height, quality] :
       {std::tuple(700, 500, 100), {1, 1, 90}, {33, 17, 5}, {700, 500, 90}}) {
    const Picture picture = make_picture(width, height);
    encoder.encode(picture.view(), quality, out);
    EXPECT_EQ(out, encode_jpeg(picture.view(), quality)) << width << " " << quality;
    if (quality == 100) {
      EXPECT_GT(out.size(), size_t{128} << 10);  // more than it begins with
    }
    EXPECT_THROW(encoder.encode(picture.view(), 0, out), Error);
  }
}

TEST(EncodeJpeg, RefusesWhatCannotBeEncoded) {
  const Picture picture = make_picture(4, 4);
  EXPECT_ERROR(encode_jpeg(picture.view(), 0), invalid_argument);
  EXPECT_ERROR(encode_jpeg(picture.view(), 101), invalid_argument);
  EXPECT_ERROR(encode_jpeg({picture.rgb.data(), 0, 4, 0}), invalid_argument);
}

// The promise the training crops rest on: a part is the same as that part of the whole, to the bit.
TEST(ImageDecoder, RegionIsIdenticalToThatPartOfTheWhole) {
  std::mt19937 random(7);
  ImageDecoder decoder;
  ImageDecoder region_decoder;
  for (const JpegKind& kind : all_kinds()) {
    for (const auto& [width, height] : {std::pair(203, 131), std::pair(64, 96), std::pair(17, 5)}) {
      const auto data = encode_jpeg_as(make_picture(width, height), kind);
      const Picture whole = copy(decoder.decode(data));
      for (int i = 0; i < 60; ++i) {
        Rect rect;
        rect.width = 1 + static_cast<int>(random() % static_cast<unsigned>(width));
        rect.height = 1 + static_cast<int>(random() % static_cast<unsigned>(height));
        rect.x = static_cast<int>(random() % static_cast<unsigned>(width - rect.width + 1));
        rect.y = static_cast<int>(random() % static_cast<unsigned>(height - rect.height + 1));
        const ImageDecoder::Region region = region_decoder.decode_region(data, rect, 0, 0);
        ASSERT_EQ(region.wanted.width, rect.width);
        ASSERT_EQ(region.wanted.height, rect.height);
        ASSERT_EQ(region.x, region.wanted.x);
        ASSERT_EQ(region.y, region.wanted.y);
        ASSERT_EQ(region.width, rect.width);
        ASSERT_EQ(region.height, rect.height);
        ASSERT_LE(region.wanted.x + rect.width, region.pixels.width);
        ASSERT_LE(region.wanted.y + rect.height, region.pixels.height);
        for (int y = 0; y < rect.height; ++y) {
          const uint8_t* row = region.pixels.data + (region.wanted.y + y) * region.pixels.stride +
                               ptrdiff_t{3} * region.wanted.x;
          ASSERT_EQ(std::memcmp(row, whole.at(rect.x, rect.y + y), 3 * size_t(rect.width)), 0)
              << describe(kind) << ", image " << width << "x" << height << ", region " << rect.width
              << "x" << rect.height << "+" << rect.x << "+" << rect.y << ", row " << y;
        }
      }
    }
  }
}

TEST(ImageDecoder, ScaledRegionIsTheSmallestThatIsStillLargeEnough) {
  const auto data = encode_jpeg(make_picture(640, 480).view());
  ImageDecoder decoder;
  const Rect rect{101, 50, 320, 240};
  const std::tuple<int, int, double> cases[] = {{321, 10, 1},  {161, 10, 1}, {160, 120, 2},
                                                {160, 121, 1}, {80, 60, 4},  {40, 30, 8},
                                                {1, 1, 8},     {0, 0, 1}};
  for (const auto& [min_width, min_height, scale] : cases) {
    const auto region = decoder.decode_region(data, rect, min_width, min_height);
    EXPECT_EQ(region.width, rect.width / scale);
    EXPECT_EQ(region.height, rect.height / scale);
    EXPECT_EQ(region.wanted.x, std::floor(region.x));
    EXPECT_EQ(region.wanted.y, std::floor(region.y));
    EXPECT_EQ(region.wanted.x + region.wanted.width, std::ceil(region.x + region.width));
    EXPECT_EQ(region.wanted.y + region.wanted.height, std::ceil(region.y + region.height));
    EXPECT_EQ(region.x - std::floor(region.x), rect.x / scale - std::floor(rect.x / scale));
  }
}

// A grey ramp along x or y, half a level a pixel: what is seen tells the place.
Picture make_ramp(bool along_y) {
  Picture ramp{512, 384, {}};
  for (int y = 0; y < ramp.height; ++y) {
    for (int x = 0; x < ramp.width; ++x) {
      ramp.rgb.insert(ramp.rgb.end(), 3, static_cast<uint8_t>((along_y ? y : x) / 2));
    }
  }
  return ramp;
}

TEST(ImageDecoder, ScaledRegionShowsTheSamePlace) {
  const Rect rect{131, 77, 260, 200};
  ImageDecoder decoder;
  for (const bool along_y : {false, true}) {
    const Picture ramp = make_ramp(along_y);
    for (const JpegKind& kind : all_kinds()) {
      if (kind.stored == JCS_CMYK || kind.stored == JCS_YCCK) continue;
      const auto data = encode_jpeg_as(ramp, kind);
      for (int scale : {1, 2, 4, 8}) {
        const auto region = decoder.decode_region(data, rect, 260 / scale, 200 / scale);
        ASSERT_EQ(region.width, 260.0 / scale);
        for (int y = 0; y < region.wanted.height; y += 5) {
          for (int x = 0; x < region.wanted.width; x += 5) {
            const uint8_t* pixel = region.pixels.data +
                                   (region.wanted.y + y) * region.pixels.stride +
                                   ptrdiff_t{3} * (region.wanted.x + x);
            // The middle of this pixel in the full image, by the stated fractional corner.
            const double full_x = rect.x + (region.wanted.x + x + 0.5 - region.x) * scale - 0.5;
            const double full_y = rect.y + (region.wanted.y + y + 0.5 - region.y) * scale - 0.5;
            ASSERT_NEAR(pixel[1], (along_y ? full_y : full_x) / 2, 1.3)
                << describe(kind) << " at 1/" << scale;
          }
        }
      }
    }
  }
}

TEST(ImageDecoder, RefusesARegionOutsideTheImage) {
  const auto data = encode_jpeg(make_picture(10, 8).view());
  ImageDecoder decoder;
  for (const Rect rect : {Rect{-1, 0, 2, 2}, Rect{0, 0, 11, 8}, Rect{5, 0, 6, 8}, Rect{0, 0, 0, 4},
                          Rect{0, 8, 1, 1}, Rect{2147483647, 0, 1, 1}, Rect{1, 1, 2147483647, 1}}) {
    EXPECT_ERROR(decoder.decode_region(data, rect, 0, 0), invalid_argument);
  }
}

TEST(ImageDecoder, ReadRegionIsDecodeRegionOfTheImageBegun) {
  const Picture picture = make_picture(61, 43);
  std::vector<std::byte> ppm;
  encode_ppm(picture.view(), ppm);
  auto without_end = encode_jpeg(picture.view());
  // Not by resize(): GCC 12 warns of a size below 2 there, with sanitizers.
  without_end.pop_back();
  without_end.pop_back();
  const Rect rect{20, 11, 30, 17};
  ImageDecoder decoder;
  ImageDecoder other;
  for (const auto& data :
       {encode_jpeg(picture.view()), without_end, encode_png(picture.view()), ppm}) {
    EXPECT_EQ(decoder.read_info(data).width, 61);
    const auto region = decoder.read_region(rect, 10, 6);
    const auto expected = other.decode_region(data, rect, 10, 6);
    EXPECT_EQ(copy(region.pixels).rgb, copy(expected.pixels).rgb);
    EXPECT_EQ(region.x, expected.x);
    EXPECT_EQ(region.width, expected.width);
    for (const bool is_decoded : {false, true}) {
      if (is_decoded) {
        decoder.read_info(data);
        decoder.decode(data);
      }
      EXPECT_ERROR(decoder.read_region(rect, 0, 0), invalid_argument);
    }
    decoder.read_info(data);
    EXPECT_ERROR(decoder.read_region({60, 0, 2, 1}, 0, 0), invalid_argument);
    EXPECT_ANY_THROW(decoder.read_info({}));
    EXPECT_ANY_THROW(decoder.read_region(rect, 0, 0));
  }
  EXPECT_ANY_THROW(ImageDecoder().read_region(rect, 0, 0));
}

TEST(ImageDecoder, InvertsFourComponents) {
  Picture flat{16, 16, std::vector<uint8_t>(16 * 16 * 3)};
  for (size_t i = 0; i < flat.rgb.size(); i += 3) {
    flat.rgb[i] = 200;  // also K
    flat.rgb[i + 1] = 100;
    flat.rgb[i + 2] = 255;
  }
  const Picture got =
      copy(ImageDecoder().decode(encode_jpeg_as(flat, {.stored = JCS_CMYK, .quality = 100})));
  // Pillow: ink = 255 - stored; rgb = K - ink * K / 255, with K as stored.
  EXPECT_NEAR(got.rgb[0], 200 - 55 * 200 / 255.0, 1);
  EXPECT_NEAR(got.rgb[1], 200 - 155 * 200 / 255.0, 1);
  EXPECT_NEAR(got.rgb[2], 200, 1);
}

TEST(ImageDecoder, ReadsPngsOfEveryColourType) {
  ImageDecoder decoder;
  const auto expect_pixels = [&](const std::vector<std::byte>& data, std::vector<uint8_t> rgb) {
    EXPECT_EQ(copy(decoder.decode(data)).rgb, rgb);
  };
  expect_pixels(encode_png_as(2, 1, {1, 2, 3, 4, 5, 6}, {}), {1, 2, 3, 4, 5, 6});
  expect_pixels(encode_png_as(2, 1, {7, 9}, {.color_type = PNG_COLOR_TYPE_GRAY}),
                {7, 7, 7, 9, 9, 9});
  expect_pixels(encode_png_as(4, 1, {0b11100100}, {PNG_COLOR_TYPE_GRAY, 2}),
                {255, 255, 255, 170, 170, 170, 85, 85, 85, 0, 0, 0});
  expect_pixels(encode_png_as(1, 1, {0x12, 0xff, 0x34, 0x00, 0x56, 0x80}, {PNG_COLOR_TYPE_RGB, 16}),
                {0x12, 0x34, 0x56});
  expect_pixels(encode_png_as(1, 1, {0x12, 0xff}, {PNG_COLOR_TYPE_GRAY, 16}), {0x12, 0x12, 0x12});
  // Dropped, not composited: fully transparent red stays red.
  expect_pixels(encode_png_as(1, 1, {200, 10, 20, 0}, {PNG_COLOR_TYPE_RGB_ALPHA}), {200, 10, 20});
  expect_pixels(encode_png_as(1, 1, {50, 0}, {PNG_COLOR_TYPE_GRAY_ALPHA}), {50, 50, 50});
  PngKind palette{PNG_COLOR_TYPE_PALETTE, 8};
  palette.palette = {{1, 2, 3}, {40, 50, 60}};
  expect_pixels(encode_png_as(2, 1, {1, 0}, palette), {40, 50, 60, 1, 2, 3});
  palette.palette_alpha = {0, 0};
  expect_pixels(encode_png_as(2, 1, {1, 0}, palette), {40, 50, 60, 1, 2, 3});
  PngKind gamma;
  gamma.gamma = 1.0;
  expect_pixels(encode_png_as(1, 1, {90, 91, 92}, gamma), {90, 91, 92});
}

TEST(ImageDecoder, ReadsRegionsOfPngs) {
  const Picture picture = make_picture(61, 43);
  for (bool interlaced : {false, true}) {
    const auto data = encode_png_as(61, 43, picture.rgb, {.interlaced = interlaced});
    ImageDecoder decoder;
    EXPECT_EQ(copy(decoder.decode(data)).rgb, picture.rgb);
    const auto region = decoder.decode_region(data, {20, 11, 30, 17}, 1, 1);
    EXPECT_EQ(region.width, 30);  // PNGs are never scaled
    for (int y = 0; y < 17; ++y) {
      const uint8_t* row = region.pixels.data + (region.wanted.y + y) * region.pixels.stride +
                           ptrdiff_t{3} * region.wanted.x;
      EXPECT_EQ(std::memcmp(row, picture.at(20, 11 + y), 90), 0) << interlaced << y;
    }
  }
}

TEST(ImageDecoder, FailsOnTruncatedImagesAtEveryLength) {
  ImageDecoder decoder;
  const Picture picture = make_picture(40, 30);
  const std::vector<std::byte> images[] = {encode_jpeg(picture.view()),
                                           encode_jpeg_as(picture, {.progressive = true}),
                                           encode_png_as(40, 30, picture.rgb, {})};
  for (const auto& image : images) {
    // The end marker alone may be missing: then all pixels are there.
    for (size_t length = 0; length + 16 < image.size(); length += 1 + length / 50) {
      EXPECT_THROW(decoder.decode(std::span(image).first(length)), Error) << length;
    }
    EXPECT_NO_THROW(decoder.decode(image));
  }
  EXPECT_ERROR(decoder.decode(std::span(images[0]).first(images[0].size() / 2)), corrupt);
  EXPECT_ERROR(decoder.decode(std::span(images[2]).first(images[2].size() / 2)), corrupt);
}

TEST(ImageDecoder, SurvivesFlippedBytes) {
  std::mt19937 random(3);
  ImageDecoder decoder;
  const Picture picture = make_picture(96, 70);
  int num_failed = 0;
  for (const auto& image :
       {encode_jpeg(picture.view()), encode_jpeg_as(picture, {.progressive = true}),
        encode_jpeg_as(picture, {.restart_interval = 2}), encode_png_as(96, 70, picture.rgb, {})}) {
    for (int i = 0; i < 400; ++i) {
      auto broken = image;
      for (int k = 0; k < 3; ++k)
        broken[random() % std::min<size_t>(image.size(), 900)] = std::byte(random());
      try {
        decoder.decode_region(broken, {3, 5, 40, 50}, 10, 10);
        decoder.decode(broken);
      } catch (const Error&) {
        ++num_failed;
      }
    }
    EXPECT_EQ(copy(decoder.decode(image)).width, 96);  // nothing of the broken ones is left
  }
  EXPECT_GT(num_failed, 100);
}

TEST(ImageDecoder, AcceptsHarmlessIrregularitiesLikePillow) {
  const auto image = encode_jpeg(make_picture(40, 30).view());
  const Picture expected = copy(ImageDecoder().decode(image));
  auto with_junk_before_end = image;
  with_junk_before_end.insert(with_junk_before_end.end() - 2, 7, std::byte{0x11});
  EXPECT_EQ(copy(ImageDecoder().decode(with_junk_before_end)).rgb, expected.rgb);
  auto with_junk_behind = image;
  with_junk_behind.resize(image.size() + 100, std::byte{0x55});
  EXPECT_EQ(copy(ImageDecoder().decode(with_junk_behind)).rgb, expected.rgb);
  auto with_junk_in_header = image;
  with_junk_in_header.insert(with_junk_in_header.begin() + 20, 5, std::byte{0});
  EXPECT_EQ(copy(ImageDecoder().decode(with_junk_in_header)).rgb, expected.rgb);
}

TEST(ImageDecoder, NamesWhatItDoesNotRead) {
  const auto decode = [](std::string_view text) {
    ImageDecoder().decode(std::as_bytes(std::span(text)));
  };
  EXPECT_ERROR(decode(""), corrupt);
  EXPECT_ERROR(decode("GIF89a....."), unsupported);
  EXPECT_ERROR(decode("<html>"), unsupported);
  EXPECT_ERROR(decode("version https://git-lfs.github.com/spec/v1"), unsupported);
  EXPECT_ERROR(decode("\x89PNG\r\r\n\x1A\r\n"), corrupt);
  EXPECT_ERROR(decode("\xC3\xBF\xC3\x98\xC3\xBF\xC3\xA0"), corrupt);
  EXPECT_ERROR(decode("BMW is a car\nindeed"), unsupported);
  EXPECT_ERROR(decode("\1\2"), unsupported);
  EXPECT_ERROR(decode("RIFF....WEBPVP8 "), corrupt);
  EXPECT_ERROR(decode("BMxxxxxxxxxx"), corrupt);
}

TEST(ImageDecoder, RefusesHugeClaimsBeforeAllocating) {
  auto image = encode_jpeg(make_picture(16, 16).view());
  const auto frame = std::search(image.begin(), image.end(), kFrameMarker, kFrameMarker + 2);
  ASSERT_NE(frame, image.end());
  frame[5] = frame[7] = std::byte{0xff};
  frame[6] = frame[8] = std::byte{0xdc};  // 0xffdc = 65500, libjpeg's own limit
  EXPECT_ERROR(ImageDecoder().decode(image), unsupported);
}

double mean_of_channel(const Picture& picture, size_t channel) {
  double sum = 0;
  for (size_t i = channel; i < picture.rgb.size(); i += 3) sum += picture.rgb[i];
  return sum / static_cast<double>(picture.rgb.size() / 3);
}

// The first words of the error, or nothing.
std::string why_not(ImageDecoder& decoder, std::span<const std::byte> data) {
  try {
    decoder.decode(data);
  } catch (const Error& error) {
    const std::string text = error.what();
    return text.substr(0, text.find_first_of(":("));
  }
  return "";
}

TEST(ImageDecoder, AgreesWithPillowOnHardImages) {
  const std::map<std::string, std::string> reasons = {
      {"truncated.JPEG", "truncated JPEG"},
      {"empty.JPEG", "the picture is empty "},
      {"text.JPEG",
       "the picture is an HTML page, not JPEG, PNG, WebP, BMP, PPM, PGM or PBM; download it "
       "again"},
      {"claims_65535x65535.JPEG",
       "broken JPEG, or a side has more than 65500 pixels, which libjpeg does not read; "
       "get the file again, or save it as PNG"}};
  FFKIT_REQUIRE_SHARED_DATA(folder, "hard-images");
  const auto text = read_bytes(folder / "expected.json");
  const auto expected =
      nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                            reinterpret_cast<const char*>(text.data()) + text.size());
  ImageDecoder decoder;
  for (const auto& [name, facts] : expected.items()) {
    SCOPED_TRACE(name);
    const auto data = read_bytes(folder / name);
    if (name == "bitrot.JPEG") {
      // Its damage leaves a valid stream with 3 stray bytes at the end, which Pillow takes too:
      // only a checksum sees it.
      EXPECT_NO_THROW(decoder.decode(data));
      continue;
    }
    if (!facts["decodes"].get<bool>()) {
      EXPECT_EQ(why_not(decoder, data), reasons.at(name));
      continue;
    }
    const RgbView view = decoder.decode(data);
    EXPECT_EQ(view.width, facts["width"].get<int>());
    EXPECT_EQ(view.height, facts["height"].get<int>());
    // 16-bit grey is the one where Pillow clips at 255 instead of scaling.
    if (name == "gray16.png") continue;
    // Lossy WebPs may differ by a little from one version of libwebp to the next; the other sums
    // are exact.
    const Picture pixels = copy(view);
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(mean_of_channel(pixels, c), facts["mean_rgb"][c].get<double>(), 1);
    }
    if (name == "webp.webp") continue;
    EXPECT_EQ(testing::sha256_hex(pixels.rgb), facts["sha256_rgb"].get<std::string>());
  }
}

}  // namespace
}  // namespace ffkit
