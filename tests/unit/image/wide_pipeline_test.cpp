// Pictures of 16 bits a channel through the pipeline, and batches of u16 and i32.
#include <png.h>

#include "image_prelude.h"
#include "reference_python.h"

namespace ffkit {
namespace {

using Bytes = std::vector<std::byte>;

// Of 16 bits, [height, width, channels of color_type].
Bytes png_of(int width, int height, const std::vector<uint16_t>& values,
             int color_type = PNG_COLOR_TYPE_GRAY) {
  std::vector<uint8_t> bytes;
  for (const uint16_t value : values) {
    bytes.push_back(uint8_t(value >> 8));
    bytes.push_back(uint8_t(value));
  }
  return encode_png_as(width, height, bytes, {color_type, 16});
}

ImageOutput output_of(DType dtype) {
  return {.dtype = dtype, .layout = Layout::nhwc, .normalize = false};
}

template <typename Element>
std::vector<Element> run(const ImageOptions& options, const Bytes& image,
                         const SampleKey& key = {}) {
  const ImageSize size = image_size(options.transform);
  std::vector<Element> out(static_cast<size_t>(3 * size.height * size.width), Element(77));
  PipelineTimes times;
  ImagePipeline(options).run(image, key, out.data(), times);
  return out;
}

template <typename Element>
std::vector<Element> thrice(std::initializer_list<Element> values) {
  std::vector<Element> out;
  for (const Element value : values) out.insert(out.end(), 3, value);
  return out;
}

TEST(WidePictures, KeepTheirValuesWhereTheBatchAsks) {
  const Bytes labels = png_of(3, 2, {0, 1, 255, 256, 0x1234, 0xFFFF});
  const Resize whole{.size = {2, 3}};
  EXPECT_EQ(run<uint16_t>({.transform = whole, .output = output_of(DType::u16)}, labels),
            (thrice<uint16_t>({0, 1, 255, 256, 0x1234, 0xFFFF})));
  EXPECT_EQ(run<int32_t>({.transform = whole, .output = output_of(DType::i32)}, labels),
            (thrice<int32_t>({0, 1, 255, 256, 0x1234, 0xFFFF})));
  const auto floats = run<float>({.transform = whole, .output = output_of(DType::f32)}, labels);
  EXPECT_FLOAT_EQ(floats[3], 1 / 65535.0F);
  EXPECT_FLOAT_EQ(floats[12], 0x1234 / 65535.0F);
  EXPECT_FLOAT_EQ(floats[15], 1);
  // As they were: the high bytes.
  EXPECT_EQ(run<uint8_t>({.transform = whole, .output = output_of(DType::u8)}, labels),
            (thrice<uint8_t>({0, 0, 0, 1, 0x12, 0xFF})));
}

TEST(WidePictures, HaveColoursAndChannelsInTheirPlaces) {
  const Bytes rgba = png_of(2, 1, {1, 2, 3, 9, 1000, 2000, 3000, 9}, PNG_COLOR_TYPE_RGB_ALPHA);
  ImageOutput planes = output_of(DType::i32);
  planes.layout = Layout::nchw;
  EXPECT_EQ(run<int32_t>({.transform = Resize{.size = {1, 2}}, .output = planes}, rgba),
            (std::vector<int32_t>{1, 1000, 2, 2000, 3, 3000}));
  const Bytes grey_alpha = png_of(1, 1, {500, 9}, PNG_COLOR_TYPE_GRAY_ALPHA);
  EXPECT_EQ(run<uint16_t>({.transform = Resize{.size = {1, 1}}, .output = output_of(DType::u16)},
                          grey_alpha),
            (thrice<uint16_t>({500})));
}

// What the others do for bytes: the same crop, flip and fill.
TEST(WidePictures, AreCroppedAndFilledAsBytes) {
  std::vector<uint16_t> wide;
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 13 * 9; ++i) {
    bytes.push_back(uint8_t(i));
    wide.push_back(uint16_t(i));
  }
  const Bytes of_bytes = encode_png_as(13, 9, bytes, {PNG_COLOR_TYPE_GRAY, 8});
  for (int64_t i = 0; i < 20; ++i) {
    const RandomCrop crop{.size = 8, .padding = 3, .pad_if_needed = true, .fill = {200, 100, 7}};
    const ImageOptions options{.transform = crop, .output = output_of(DType::i32)};
    const SampleKey key{.seed = 1, .record_index = i};
    EXPECT_EQ(run<int32_t>(options, png_of(13, 9, wide), key),
              run<int32_t>(options, of_bytes, key));
  }
  const auto far_away = run<uint16_t>(
      {.transform =
           ResizeCrop{
               .size = 2, .factor_min = 1, .factor_max = 1, .bottom_min = 0.9, .bottom_max = 0.9},
       .output = output_of(DType::u16)},
      png_of(4, 4, std::vector<uint16_t>(16, 300)));
  EXPECT_EQ(far_away.size(), 12U);
}

TEST(WidePictures, AreNormalisedAsBytesAre) {
  const Picture picture = make_picture(40, 30);
  std::vector<uint16_t> wide;
  for (const uint8_t value : picture.rgb) wide.push_back(uint16_t(257 * value));
  const ImageOptions options{.transform = Resize{.size = {30, 40}}};
  const auto of_wide = run<float>(options, png_of(40, 30, wide, PNG_COLOR_TYPE_RGB));
  const auto of_bytes = run<float>(options, encode_png(picture.view()));
  for (size_t i = 0; i < of_wide.size(); ++i) ASSERT_NEAR(of_wide[i], of_bytes[i], 1e-6);
}

// Nothing takes 8 of the 16 bits without a word.
TEST(WidePictures, LoseNoBitsSilently) {
  const Bytes image = png_of(2, 1, {0x1234, 0xABCD});
  const Resize same{.size = {1, 2}};
  const Apply never{.probability = 0, .augmentations = {Invert{}}};
  const auto options = [&](ImageTransform transform, std::vector<Augmentation> augmentations) {
    return ImageOptions{.transform = std::move(transform),
                        .augmentations = std::move(augmentations),
                        .output = output_of(DType::f32)};
  };
  for (const ImageTransform& kept :
       {ImageTransform(same), ImageTransform(Compose{{same}}),
        ImageTransform(Compose{{RandomHorizontalFlip{.probability = 0}, same}}),
        ImageTransform(Compose{{RandomHorizontalFlip{.probability = 1},
                                RandomHorizontalFlip{.probability = 1}, same}}),
        ImageTransform(Compose{{CenterCrop{.size = {1, 2}}}}),
        ImageTransform(Compose{{RandomVerticalFlip{.probability = 1}, same}}),
        ImageTransform(Compose{{RandomRotation{.degrees = {360, 360}}, same}})}) {
    EXPECT_FLOAT_EQ(run<float>(options(kept, {}), image)[3], 0xABCD / 65535.0F);
  }
  for (const Augmentation& augmentation : {Augmentation(ColorJitter{}), Augmentation(never)}) {
    EXPECT_ERROR(run<float>(options(same, {augmentation}), image), unsupported);
    ImageOptions bytes = options(same, {augmentation});
    bytes.output = output_of(DType::u8);
    EXPECT_EQ(run<uint8_t>(bytes, image)[3], 0xAB);
  }
  const RandomRotation turn{.degrees = 5, .filter = WarpFilter::bilinear};
  EXPECT_ERROR(run<float>(options(Compose{{turn, same}}, {}), image), unsupported);
  EXPECT_ERROR(run<float>(options(ScalePad{.size = {4, 4}, .factor = 1}, {}), image), unsupported);
}

// Steps that blend nothing do to 16 bits what they do to bytes.
TEST(WidePictures, GoThroughStepsAsBytesDo) {
  const Picture picture = make_picture(31, 23);
  std::vector<uint16_t> wide;
  for (const uint8_t value : picture.rgb) wide.push_back(uint16_t(257 * value));
  const Bytes of_wide = png_of(31, 23, wide, PNG_COLOR_TYPE_RGB);
  const Bytes of_bytes = encode_png(picture.view());
  const Compose compose{{RandomVerticalFlip{}, RandomRotation{.degrees = 90, .fill = {9, 8, 7}},
                         Pad{.padding = {1, 2, 3, 4}, .fill = {200, 1, 2}}, RandomHorizontalFlip{},
                         RandomAffine{.degrees = 20, .scale_min = 0.8, .scale_max = 1.3},
                         RandomCrop{.size = {20, 25}}, PadToLargest{.size = 32}}};
  for (int64_t i = 0; i < 8; ++i) {
    ImageOptions options{.transform = compose, .output = output_of(DType::f32)};
    const SampleKey key{.seed = 4, .record_index = i};
    const auto got = run<float>(options, of_wide, key);
    const auto expected = run<float>(options, of_bytes, key);
    // Where a centre lies on an edge, Pillow's fixed point may take the pixel beside it.
    size_t num_others = 0;
    for (size_t k = 0; k < got.size(); ++k) num_others += std::abs(got[k] - expected[k]) > 1e-6;
    EXPECT_LE(num_others, got.size() / 50);
  }
}

TEST(WideOutput, HasTheValuesOfBytes) {
  const Picture picture = make_picture(90, 60);
  const ImageTransform crop = RandomResizedCrop{.size = 24};
  const auto bytes = run<uint8_t>({.transform = crop, .output = output_of(DType::u8)},
                                  encode_jpeg(picture.view()), {1, 2, 3});
  const auto numbers = run<int32_t>({.transform = crop, .output = output_of(DType::i32)},
                                    encode_jpeg(picture.view()), {1, 2, 3});
  EXPECT_EQ(std::vector<int32_t>(bytes.begin(), bytes.end()), numbers);
}

TEST(WideOutput, IsRefusedWhereColoursAreChanged) {
  for (const DType dtype : {DType::u16, DType::i32}) {
    ImageOptions options{.transform = Resize{}, .output = output_of(dtype)};
    EXPECT_NO_THROW(validate(options));
    options.augmentations = {ColorJitter{}};
    EXPECT_ERROR(validate(options), invalid_argument);
    options.augmentations = {};
    options.erasing = RandomErasing{};
    EXPECT_ERROR(validate(options), invalid_argument);
    options.erasing = {};
    options.output.normalize = true;
    EXPECT_ERROR(validate(options), invalid_argument);
    options.output.normalize = false;
    options.transform = ScalePad{};
    EXPECT_ERROR(validate(options), invalid_argument);
  }
}

// Pillow resizes its mode I;16.
TEST(WidePictures, AreResizedAsPillowDoesIt) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const testing::TempDir dir;
  ASSERT_TRUE(testing::run_python(
      "import numpy as np\n"
      "from PIL import Image\n"
      "a = np.random.default_rng(1).integers(0, 65536, (61, 83), dtype=np.uint16)\n"
      "a[10:30] //= 300\n"
      "image = Image.fromarray(a)\n"
      "assert image.mode == 'I;16'\n"
      "image.save('a.png')\n"
      "sizes = [(40, 30), (83, 20), (100, 120), (17, 61)]\n"
      "np.concatenate([np.asarray(image.resize(s, Image.Resampling.BILINEAR)).ravel() for s in "
      "sizes]).astype(np.uint16).tofile('out')\n",
      dir.path()));
  const auto expected = testing::read_values<uint16_t>(dir / "out");
  const Bytes image = testing::read_bytes(dir / "a.png");
  size_t at = 0;
  for (const auto& [width, height] : {std::pair(40, 30), {83, 20}, {100, 120}, {17, 61}}) {
    const auto got = run<uint16_t>(
        {.transform = Resize{.size = {height, width}}, .output = output_of(DType::u16)}, image);
    size_t num_wrong = 0;
    for (size_t i = 0; i < got.size(); i += 3) num_wrong += got[i] != expected.at(at++) ? 1 : 0;
    EXPECT_EQ(num_wrong, 0U) << width << " x " << height;
  }
}

}  // namespace
}  // namespace ffkit
