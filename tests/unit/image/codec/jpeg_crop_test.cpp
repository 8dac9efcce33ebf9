// A part of a JPEG has the pixels that the whole has there: of every sampling, of every order of
// scans, at every scale.
#include "codec/jpeg_decoder.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::copy;
using testing::first_scans;

using Samplings = std::vector<std::pair<int, int>>;

std::string name_of(const Samplings& samplings) {
  std::string name;
  for (const auto& [h, v] : samplings) {
    name += (name.empty() ? "" : ",") + std::to_string(h) + "x" + std::to_string(v);
  }
  return name;
}

// All that libjpeg decodes: an MCU has at most ten blocks, and each factor divides the largest one.
std::vector<Samplings> all_samplings() {
  std::vector<Samplings> list;
  const auto divides = [](const Samplings& samplings) {
    int h = 1;
    int v = 1;
    int num_blocks = 0;
    for (const auto& s : samplings) {
      h = std::max(h, s.first);
      v = std::max(v, s.second);
      num_blocks += s.first * s.second;
    }
    return num_blocks <= 10 && std::ranges::all_of(samplings, [&](const auto& s) {
             return h % s.first == 0 && v % s.second == 0;
           });
  };
  for (int i = 0; i < 16 * 16 * 16; ++i) {
    const auto factors = [](int n) { return std::pair(1 + n % 4, 1 + n / 4 % 4); };
    const Samplings samplings = {factors(i), factors(i / 16), factors(i / 256)};
    if (divides(samplings)) list.push_back(samplings);
  }
  return list;
}

// The four files that a sampling is tested with; the last one is in the dct code.
struct Files {
  std::vector<std::byte> baseline;
  std::vector<std::byte> progressive;
  std::vector<std::byte> incomplete;
  std::vector<std::byte> dct;
};

Files files_of(const Picture& picture, const Samplings& samplings, int num_scans) {
  Files files{
      .baseline = encode_jpeg_as(picture, {.samplings = samplings}),
      .progressive = encode_jpeg_as(picture, {.progressive = true, .samplings = samplings})};
  files.incomplete = first_scans(files.progressive, num_scans);
  EXPECT_FALSE(encode_dct_picture(files.baseline, files.dct)) << name_of(samplings);
  return files;
}

// Decodes `num_regions` parts at every scale, and returns how many of them are not what the whole
// has there.
int num_wrong_parts(JpegDecoder& decoder, std::span<const std::byte> image, int num_regions) {
  const ImageInfo info = decoder.begin(image);
  std::mt19937 random(9);
  const auto below = [&](int limit) { return int(random() % unsigned(limit)); };
  int num_wrong = 0;
  for (const int denominator : {1, 2, 4, 8}) {
    const int width = scaled_jpeg_size(info.width, denominator);
    const int height = scaled_jpeg_size(info.height, denominator);
    decoder.begin(image);
    const Picture whole = copy(decoder.read({0, 0, width, height}, denominator).pixels);
    for (int i = 0; i < num_regions; ++i) {
      Rect region{.width = 1 + below(width), .height = 1 + below(height)};
      region.x = below(width - region.width + 1);
      region.y = below(height - region.height + 1);
      decoder.begin(image);
      const JpegDecoder::Part part = decoder.read(region, denominator);
      bool is_right = true;
      for (int y = 0; y < region.height && is_right; ++y) {
        const uint8_t* row = part.pixels.data + (region.y - part.y + y) * part.pixels.stride +
                             ptrdiff_t{3} * (region.x - part.x);
        is_right =
            std::memcmp(row, whole.at(region.x, region.y + y), 3 * size_t(region.width)) == 0;
      }
      num_wrong += is_right ? 0 : 1;
    }
  }
  return num_wrong;
}

void expect_right_parts(const Files& files, const std::string& name, int num_regions) {
  JpegDecoder decoder;
  EXPECT_EQ(num_wrong_parts(decoder, files.baseline, num_regions), 0) << name;
  EXPECT_EQ(num_wrong_parts(decoder, files.progressive, num_regions), 0) << name << ", progressive";
  EXPECT_EQ(num_wrong_parts(decoder, files.incomplete, num_regions), 0) << name << ", incomplete";
  EXPECT_EQ(num_wrong_parts(decoder, files.dct, num_regions), 0) << name << ", dct code";
}

TEST(JpegCrop, IsThatPartOfTheWhole) {
  const Picture picture = make_picture(83, 71);
  for (const Samplings& samplings : {Samplings{{1, 1}, {1, 1}, {1, 1}},
                                     {{2, 2}, {1, 1}, {1, 1}},
                                     {{2, 4}, {1, 1}, {1, 1}},
                                     {{1, 1}, {2, 2}, {1, 4}},
                                     {{4, 2}, {1, 1}, {1, 1}}}) {
    expect_right_parts(files_of(picture, samplings, 2), name_of(samplings), 6);
  }
}

// Scans that are missing at every place, and pictures of one and of four components.
TEST(JpegCrop, OfMissingScansIsThatPartOfTheWhole) {
  const Picture picture = make_picture(83, 71);
  JpegDecoder decoder;
  for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_GRAYSCALE, JCS_CMYK, JCS_YCCK}) {
    for (const bool arithmetic : {false, true}) {
      const auto jpeg = encode_jpeg_as(
          picture, {.progressive = true, .stored = stored, .arithmetic = arithmetic});
      for (int num_scans = 1; num_scans <= 10; ++num_scans) {
        EXPECT_EQ(num_wrong_parts(decoder, first_scans(jpeg, num_scans), 2), 0)
            << stored << ", " << num_scans << " scans";
      }
    }
  }
}

// The speed of usual pictures: parts of them are decoded alone, and they are scaled.
TEST(JpegCrop, OfUsualPicturesIsDecodedAlone) {
  const Picture picture = make_picture(320, 240);
  for (const bool progressive : {false, true}) {
    for (const auto& [h, v] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
      const auto jpeg =
          encode_jpeg_as(picture, {.h_samp = h, .v_samp = v, .progressive = progressive});
      JpegDecoder decoder;
      decoder.begin(jpeg);
      EXPECT_TRUE(decoder.can_scale(2) && decoder.can_scale(4) && decoder.can_scale(8))
          << h << "x" << v;
      const JpegDecoder::Part part = decoder.read({200, 150, 20, 20}, 1);
      EXPECT_GT(part.x, 100) << h << "x" << v;
      EXPECT_EQ(part.y, 146) << h << "x" << v;
    }
  }
}

TEST(JpegCrop, OfARareSamplingIsNotScaled) {
  const Picture picture = make_picture(320, 240);
  const Files files = files_of(picture, {{2, 4}, {1, 1}, {1, 1}}, 2);
  ImageDecoder decoder;
  for (const auto& image : {files.baseline, files.progressive, files.dct}) {
    const auto whole = copy(decoder.decode(image));
    const auto region = decoder.decode_region(image, {40, 30, 200, 160}, 10, 10);
    EXPECT_EQ(region.width, 200);
    const auto* row = region.pixels.data + region.wanted.y * region.pixels.stride +
                      ptrdiff_t{3} * region.wanted.x;
    EXPECT_EQ(std::memcmp(row, whole.at(40, 30), 600), 0);
  }
}

// Every sampling that libjpeg decodes.
TEST(JpegCropOfEverySampling, IsThatPartOfTheWhole) {
  const Picture picture = make_picture(97, 101);
  const std::vector<Samplings> list = all_samplings();
  ASSERT_EQ(list.size(), 311);
  int num_scans = 0;
  for (const Samplings& samplings : list) {
    num_scans = 1 + num_scans % 9;
    expect_right_parts(files_of(picture, samplings, num_scans), name_of(samplings), 60);
  }
}

}  // namespace
}  // namespace ffkit
