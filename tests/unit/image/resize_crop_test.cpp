// ResizeCrop: pixels against Pillow's resize of the whole image followed by a crop, and where they
// went.
#include <ffkit/image/image_resizer.h>

#include "image_prelude.h"
#include "transform/picture_scaler.h"

namespace ffkit {
namespace {

constexpr ImageOutput kU8Crop{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};
constexpr int kSourceWidth = 320;
constexpr int kSourceHeight = 180;

std::vector<uint8_t> run_crop(const ResizeCrop& crop, const std::vector<std::byte>& image,
                              const SampleKey& key) {
  std::vector<uint8_t> out(static_cast<size_t>(3 * crop.size.height * crop.size.width), 7);
  PipelineTimes times;
  ImagePipeline({.transform = crop, .output = kU8Crop}).run(image, key, out.data(), times);
  return out;
}

// The same in the plainest way.
std::vector<uint8_t> reference(const ResizeCrop& crop, const std::vector<std::byte>& image,
                               const SampleKey& key) {
  ImageDecoder decoder;
  const RgbView whole = decoder.decode(image);
  CounterRandom random(key, 0);
  const DrawnResizeCrop drawn = draw_crop(crop, whole.width, whole.height, random);
  ImageResizer resizer;
  const RgbView resized = resizer.resize(whole, drawn.resized_width, drawn.resized_height);
  std::vector<uint8_t> out;
  for (int y = 0; y < crop.size.height; ++y) {
    for (int x = 0; x < crop.size.width; ++x) {
      const int from_x = drawn.x + (drawn.flip ? static_cast<int>(crop.size.width) - 1 - x : x);
      const int from_y = drawn.y + y;
      const bool is_inside =
          from_x >= 0 && from_x < resized.width && from_y >= 0 && from_y < resized.height;
      for (int c = 0; c < 3; ++c) {
        out.push_back(is_inside ? resized.data[from_y * resized.stride + 3 * from_x + c] : 0);
      }
    }
  }
  return out;
}

TEST(ResizeCrop, PixelsAreThoseOfAResizeAndACrop) {
  const auto image = encode_png(make_picture(kSourceWidth, kSourceHeight, 3).view());
  const ResizeCrop fixed{.size = {64, 140}, .factor_min = 0.45, .factor_max = 0.45};
  EXPECT_EQ(run_crop(fixed, image, {}), reference(fixed, image, {}));
  const ResizeCrop drawn{.size = {50, 120},
                         .factor_min = 0.4,
                         .factor_max = 0.9,
                         .bottom_max = 0.2,
                         .centered = false,
                         .flip_probability = 0.5};
  int num_flipped = 0;
  for (int64_t record = 0; record < 20; ++record) {
    const SampleKey key{.seed = 5, .record_index = record};
    EXPECT_EQ(run_crop(drawn, image, key), reference(drawn, image, key)) << record;
    num_flipped += image_map(drawn, kSourceWidth, kSourceHeight, key).scale_x < 0 ? 1 : 0;
  }
  EXPECT_GT(num_flipped, 4);
  EXPECT_LT(num_flipped, 16);
}

TEST(ResizeCrop, OutsideOfTheImageIsBlack) {
  const auto image = encode_png(make_picture(kSourceWidth, kSourceHeight, 4).view());
  // Wider and higher than the image at that factor, plain and mirrored.
  for (const double flip : {0.0, 1.0}) {
    const ResizeCrop crop{
        .size = {100, 200}, .factor_min = 0.5, .factor_max = 0.5, .flip_probability = flip};
    EXPECT_EQ(run_crop(crop, image, {}), reference(crop, image, {}));
  }
}

TEST(ResizeCrop, ScaledDecodeIsClose) {
  const auto image = encode_jpeg(make_picture(1600, 900, 5).view());
  const ResizeCrop scaled{.size = {256, 704}, .factor_min = 0.44, .factor_max = 0.44};
  ResizeCrop exact = scaled;
  exact.scaled_decode = false;
  const auto a = run_crop(scaled, image, {});
  const auto b = run_crop(exact, image, {});
  EXPECT_EQ(b, reference(exact, image, {}));
  EXPECT_NE(a, b);  // or this test tests nothing
  // Close, and at the same place: a pixel, 3 values, or a row away they differ far more.
  const auto mean_difference = [&](size_t shift) {
    double sum = 0;
    for (size_t i = shift; i < a.size(); ++i) sum += std::abs(int(a[i]) - int(b[i - shift]));
    return sum / static_cast<double>(a.size() - shift);
  };
  EXPECT_LT(mean_difference(0), 5);
  EXPECT_GT(mean_difference(3), 2 * mean_difference(0));
  EXPECT_GT(mean_difference(size_t{3} * 704), 2 * mean_difference(0));
}

TEST(ResizeCrop, MapSaysWhereAPixelWent) {
  // A white square on black is found again where the map says.
  constexpr int kSquare = 24;
  Picture picture{kSourceWidth, kSourceHeight,
                  std::vector<uint8_t>(size_t{3} * kSourceWidth * kSourceHeight)};
  const int at_x = 130;
  const int at_y = 120;
  for (int y = at_y; y < at_y + kSquare; ++y) {
    std::memset(&picture.rgb[static_cast<size_t>(3 * (y * kSourceWidth + at_x))], 255, 3 * kSquare);
  }
  const auto image = encode_png(picture.view());
  for (int64_t record = 0; record < 10; ++record) {
    const SampleKey key{.seed = 6, .record_index = record};
    const ResizeCrop crop{.size = {128, 256},
                          .factor_min = 0.7,
                          .factor_max = 0.8,
                          .centered = false,
                          .flip_probability = 0.5};
    const auto pixels = run_crop(crop, image, key);
    double sum = 0;
    double sum_x = 0;
    double sum_y = 0;
    for (int y = 0; y < 128; ++y) {
      for (int x = 0; x < 256; ++x) {
        const double white = pixels[static_cast<size_t>(3 * (y * 256 + x))];
        sum += white;
        sum_x += white * (x + 0.5);
        sum_y += white * (y + 0.5);
      }
    }
    const ImageMap map = image_map(crop, kSourceWidth, kSourceHeight, key);
    EXPECT_NEAR(sum_x / sum, map.scale_x * (at_x + kSquare / 2.0) + map.offset_x, 0.05);
    EXPECT_NEAR(sum_y / sum, map.scale_y * (at_y + kSquare / 2.0) + map.offset_y, 0.05);
  }
}

TEST(ResizeCrop, OptionsOutOfRangeAreRefused) {
  EXPECT_ERROR(validate({.transform = ResizeCrop{.factor_min = 0}}), invalid_argument);
  EXPECT_ERROR(validate({.transform = ResizeCrop{.factor_min = 0.5}}), invalid_argument);
  EXPECT_ERROR(validate({.transform = ResizeCrop{.bottom_max = 1}}), invalid_argument);
  EXPECT_ERROR(validate({.transform = ResizeCrop{.flip_probability = 2}}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
