// Whether an image is truncated does not depend on the part of it that is asked for.
#include "image_prelude.h"

namespace ffkit {
namespace {

constexpr int kWidth = 90;
constexpr int kHeight = 70;

struct Wish {
  Rect region;
  int min_size = 0;
};

// Parts of all heights, among them those that end far above the last row; at full size and scaled.
const std::vector<Wish>& wishes() {
  static const std::vector<Wish> all = {{{0, 0, 1, 1}},
                                        {{0, 0, kWidth, 8}},
                                        {{30, 20, 40, 20}},
                                        {{80, 0, 10, 40}},
                                        {{10, 60, 20, 10}},
                                        {{89, 69, 1, 1}},
                                        {{0, 0, kWidth, kHeight}},
                                        {{0, 0, 80, 30}, 10},
                                        {{0, 0, kWidth, kHeight}, 12}};
  return all;
}

template <typename Call>
bool fails(const Call& call) {
  try {
    call();
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.what();
    return true;
  }
}

struct Encoded {
  std::string name;
  std::vector<std::byte> data;
};

std::vector<Encoded> images() {
  const Picture picture = make_picture(kWidth, kHeight);
  const auto png = [&](bool interlaced) {
    return encode_png_as(kWidth, kHeight, picture.rgb, {.interlaced = interlaced});
  };
  return {{"baseline", encode_jpeg_as(picture, {})},
          {"4:4:4", encode_jpeg_as(picture, {.h_samp = 1, .v_samp = 1})},
          {"optimised", encode_jpeg_as(picture, {.optimized = true})},
          {"restarts", encode_jpeg_as(picture, {.restart_interval = 3})},
          {"grey", encode_jpeg_as(picture, {.stored = JCS_GRAYSCALE})},
          {"cmyk", encode_jpeg_as(picture, {.stored = JCS_CMYK})},
          {"progressive", encode_jpeg_as(picture, {.progressive = true})},
          {"PNG", png(false)},
          {"interlaced PNG", png(true)}};
}

TEST(TruncatedImages, FailForEveryPartOrForNone) {
  ImageDecoder decoder;
  for (const auto& [name, data] : images()) {
    int num_bad = 0;
    // All lengths near the end, where pixels may be there although the file's end is not.
    for (size_t cut = 1; cut < data.size(); cut += 1 + cut / 20) {
      const auto part = std::span(data).first(data.size() - cut);
      const bool is_bad = fails([&] { decoder.decode(part); });
      num_bad += is_bad ? 1 : 0;
      for (const auto& [region, min_size] : wishes()) {
        EXPECT_EQ(fails([&] { decoder.decode_region(part, region, min_size, min_size); }), is_bad)
            << name << " without " << cut << " bytes: " << region.width << "x" << region.height
            << "+" << region.x << "+" << region.y;
      }
    }
    EXPECT_GT(num_bad, 40) << name;
  }
}

TEST(TruncatedImages, BytesBehindTheEndMakeNone) {
  ImageDecoder decoder;
  for (auto& [name, data] : images()) {
    const auto whole = testing::copy(decoder.decode(data)).rgb;
    // Zeros, as of a file that was written in blocks; a trailer; what looks like the beginning of a
    // marker.
    for (const auto& behind :
         {std::vector<std::byte>(1000), std::vector<std::byte>(1, std::byte{0xD9}),
          std::vector<std::byte>(3, std::byte{0xFF}),
          std::vector<std::byte>(50, std::byte{0xD9})}) {
      std::vector<std::byte> longer = data;
      longer.insert(longer.end(), behind.begin(), behind.end());
      EXPECT_EQ(testing::copy(decoder.decode(longer)).rgb, whole) << name;
      for (const auto& [region, min_size] : wishes()) {
        EXPECT_NO_THROW(decoder.decode_region(longer, region, min_size, min_size)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace ffkit
