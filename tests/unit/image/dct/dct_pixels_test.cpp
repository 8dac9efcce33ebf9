// Pixels and samples from the dct code are those of the JPEG.
#include <iostream>

#include "codec/jpeg_decoder.h"
#include "dct_test_pictures.h"
#include "highway_targets.h"
#include "image_prelude.h"

namespace ffkit {
namespace {

using testing::NamedJpeg;

bool same_pixels(const RgbView& a, const RgbView& b) {
  if (a.width != b.width || a.height != b.height) return false;
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.data + y * a.stride, b.data + y * b.stride, 3 * size_t(a.width)) != 0) {
      return false;
    }
  }
  return true;
}

// Decodes both ways with decoders that are used again and again.
class BothWays {
 public:
  // Returns false where the picture has no dct code.
  bool begin(const NamedJpeg& picture) {
    picture_ = &picture;
    return !transcoder_.encode(picture.jpeg, dct_).has_value();
  }
  const std::vector<std::byte>& dct() const { return dct_; }

  void expect_same_file() {
    transcoder_.decode_to_jpeg(dct_, rebuilt_);
    EXPECT_TRUE(rebuilt_ == picture_->jpeg) << picture_->name;
  }

  void expect_same_whole() {
    EXPECT_TRUE(same_pixels(from_dct_.decode(dct_), from_jpeg_.decode(picture_->jpeg)))
        << picture_->name;
    const ImageInfo expected = read_image_info(picture_->jpeg);
    const ImageInfo info = read_image_info(dct_);
    EXPECT_EQ(info.encoding, ImageEncoding::dct);
    EXPECT_EQ(info.width, expected.width);
    EXPECT_EQ(info.height, expected.height);
    EXPECT_EQ(info.num_components, expected.num_components);
  }

  void expect_same_region(const Rect& region, int min_size) {
    const auto a = from_dct_.decode_region(dct_, region, min_size, min_size);
    const auto b = from_jpeg_.decode_region(picture_->jpeg, region, min_size, min_size);
    EXPECT_TRUE(same_pixels(a.pixels, b.pixels))
        << picture_->name << ": " << region.width << "x" << region.height << "+" << region.x << "+"
        << region.y << ", at least " << min_size;
    EXPECT_EQ(a.wanted.x, b.wanted.x);
    EXPECT_EQ(a.wanted.y, b.wanted.y);
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.y, b.y);
  }

  // All of it at every scale, and `count` parts of it.
  void expect_same_parts(int count, std::mt19937& random) {
    const ImageInfo info = read_image_info(dct_);
    for (const int denominator : {8, 4, 2, 1}) {
      expect_same_region({0, 0, info.width, info.height},
                         std::max(1, std::min(info.width, info.height) / denominator));
    }
    const auto below = [&](int limit) { return int(random() % unsigned(limit)); };
    for (int i = 0; i < count; ++i) {
      Rect region{.width = 1 + below(info.width), .height = 1 + below(info.height)};
      region.x = below(info.width - region.width + 1);
      region.y = below(info.height - region.height + 1);
      expect_same_region(region, i % 2 == 0 ? 0 : std::max(1, region.width / (2 << i % 3)));
    }
  }

 private:
  const NamedJpeg* picture_ = nullptr;
  DctTranscoder transcoder_;
  std::vector<std::byte> dct_;
  std::vector<std::byte> rebuilt_;
  ImageDecoder from_dct_;
  ImageDecoder from_jpeg_;
};

TEST(DctPixels, AreThoseOfTheJpeg) {
  std::mt19937 random(3);
  BothWays both;
  for (const NamedJpeg& picture : testing::jpegs_for_dct()) {
    ASSERT_TRUE(both.begin(picture)) << picture.name;
    both.expect_same_whole();
    both.expect_same_parts(12, random);
  }
}

class DctTargets : public testing::HighwayTargetTest {};
FFKIT_INSTANTIATE_HIGHWAY_TARGETS(DctTargets);

TEST_P(DctTargets, GiveTheSameBytesAndPixels) {
  std::mt19937 random(4);
  BothWays both;
  uint64_t sum = 0;
  for (const int quality : {4, 60, 100}) {
    const NamedJpeg picture{
        "of quality " + std::to_string(quality),
        testing::encode_jpeg_as(quality == 60 ? make_picture(150, 70) : testing::make_noise(90, 70),
                                {.quality = quality})};
    ASSERT_TRUE(both.begin(picture));
    both.expect_same_file();
    both.expect_same_whole();
    both.expect_same_parts(6, random);
    for (const std::byte byte : both.dct()) sum = sum * 31 + std::to_integer<uint64_t>(byte);
  }
  static const uint64_t expected = sum;  // of the first target
  EXPECT_EQ(sum, expected);
}

TEST(DctPixels, OfBrokenRowsAreAnError) {
  const auto jpeg = encode_jpeg(make_picture(60, 50).view());
  std::vector<std::byte> dct;
  ASSERT_FALSE(encode_dct_picture(jpeg, dct));
  ImageDecoder decoder;
  EXPECT_NO_THROW(decoder.decode(dct));
  // The last row's first DC coefficient becomes larger than any.
  DctFile file;
  file.open(dct);
  const auto last_row =
      file.row(file.num_rows() - 1).data() - reinterpret_cast<const uint8_t*>(dct.data());
  auto broken = dct;
  broken[size_t(last_row) + 1] = std::byte{0x7F};
  EXPECT_ERROR(decoder.decode(broken), corrupt);
  // The rows above are good.
  EXPECT_NO_THROW(decoder.decode_region(broken, {0, 0, 60, 8}, 0, 0));
  EXPECT_TRUE(same_pixels(decoder.decode(dct), ImageDecoder().decode(jpeg)));
}

std::vector<std::byte> sample_of(ImagePipeline& pipeline, std::span<const std::byte> image,
                                 int64_t position) {
  std::vector<std::byte> out(size_t{3} * 64 * 64 * 4);
  PipelineTimes times;
  pipeline.run(image, {1, 2, position}, out.data(), times);
  return out;
}

std::vector<ImageOptions> all_options() {
  const ImageSize size{64, 64};
  std::vector<ImageOptions> list;
  for (const ImageTransform& transform :
       {ImageTransform(RandomResizedCrop{.size = size}),
        ImageTransform(ResizeCenterCrop{.resize = 80, .size = size}),
        ImageTransform(ResizeCenterCrop{
            .resize = 80, .size = size, .interpolation = Interpolation::bicubic})}) {
    list.push_back({.transform = transform});
    list.push_back({.transform = transform, .augmentations = {ColorJitter{0.4, 0.4, 0.4, 0.1}}});
    list.push_back({.transform = transform, .augmentations = {RandAugment{}}});
  }
  return list;
}

void expect_same_samples(const NamedJpeg& picture, std::span<const std::byte> dct, int count) {
  for (const ImageOptions& options : all_options()) {
    ImagePipeline pipeline(options);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(sample_of(pipeline, dct, i) == sample_of(pipeline, picture.jpeg, i))
          << picture.name;
    }
  }
}

TEST(DctPixels, GiveTheSameSamples) {
  BothWays both;
  for (const auto& [width, height] : {std::pair(300, 200), {97, 330}}) {
    const NamedJpeg picture{"made", encode_jpeg(make_picture(width, height).view())};
    ASSERT_TRUE(both.begin(picture));
    expect_same_samples(picture, both.dct(), 6);
  }
}

// Every JPEG that the shared data have.
TEST(DctPixelsOfRealPictures, AreThoseOfTheJpegs) {
  const char* const root = std::getenv("FFKIT_SHARED_DATA");
  if (root == nullptr || *root == '\0') GTEST_SKIP() << "$FFKIT_SHARED_DATA is not set";
  std::mt19937 random(5);
  BothWays both;
  size_t num_taken = 0;
  size_t num_refused = 0;
  size_t jpeg_bytes = 0;
  size_t dct_bytes = 0;
  for (const NamedJpeg& picture : testing::jpegs_under(root)) {
    if (!both.begin(picture)) {
      ++num_refused;
      continue;
    }
    ++num_taken;
    jpeg_bytes += picture.jpeg.size();
    dct_bytes += both.dct().size();
    both.expect_same_file();
    both.expect_same_whole();
    both.expect_same_parts(6, random);
    if (num_taken % 10 == 0) expect_same_samples(picture, both.dct(), 2);
  }
  EXPECT_GT(num_taken, 10 * num_refused);
  std::cout << num_taken << " pictures, " << num_refused << " are kept as JPEGs; "
            << double(dct_bytes) / double(jpeg_bytes) << " of the bytes\n";
}

}  // namespace
}  // namespace ffkit
