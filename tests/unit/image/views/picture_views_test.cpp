// Several views of one picture are what each would be alone.
#include <png.h>

#include "image_prelude.h"
#include "moves/moves.h"

namespace ffkit {
namespace {

using EncodedPicture = std::vector<std::byte>;

constexpr ImageOutput kViewPixels{.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false};

size_t bytes_of_view(const ImageOptions& options) {
  const ImageSize size = image_size(options.transform);
  return static_cast<size_t>(3 * size.height * size.width) * size_of(options.output.dtype);
}

std::vector<uint8_t> view_alone(const ImageOptions& options, const EncodedPicture& image,
                                const SampleKey& key) {
  std::vector<uint8_t> out(bytes_of_view(options), 77);
  PipelineTimes times;
  ImagePipeline(options).run(image, key, out.data(), times);
  return out;
}

// Two pictures of each view, written in an order that goes to and fro, each as it is alone.
void expect_views_as_alone(const std::vector<ImageOptions>& options, const EncodedPicture& image,
                           uint64_t seed) {
  PictureViews views(options);
  std::vector<size_t> view_of;
  std::vector<SampleKey> keys;
  for (size_t copy = 0; copy < 2; ++copy) {
    for (size_t view = 0; view < options.size(); ++view) {
      view_of.push_back(view);
      keys.push_back({.seed = seed, .record_index = static_cast<int64_t>(keys.size())});
    }
  }
  PipelineTimes times;
  views.begin(image, view_of, keys, times);
  for (size_t i = 0; i < view_of.size(); ++i) {
    const size_t picture = i % 2 == 0 ? i / 2 : view_of.size() - 1 - i / 2;
    std::vector<uint8_t> out(bytes_of_view(options[view_of[picture]]), 99);
    views.write(picture, out.data(), times);
    EXPECT_EQ(out, view_alone(options[view_of[picture]], image, keys[picture]))
        << "picture " << picture;
  }
  EXPECT_GT(times.decode_ns, 0);
  EXPECT_GT(times.transform_ns, 0);
}

std::vector<ImageOptions> all_kinds_of_views() {
  const RandomResizedCrop crop{.size = 40, .scaled_decode = false};
  return {
      {.transform = crop, .output = kViewPixels},
      {.transform = RandomResizedCrop{.size = {30, 20},
                                      .scale_max = 0.2,
                                      .scaled_decode = false,
                                      .interpolation = Interpolation::bicubic},
       .augmentations = {ColorJitter{.brightness = 0.5}},
       .output = kViewPixels},
      {.transform = RandomCrop{.size = 70, .padding = 12, .pad_if_needed = true, .fill = {9, 8, 7}},
       .output = kViewPixels},
      {.transform = ResizeCenterCrop{.resize = 50, .size = 44}, .output = {}},
      {.transform = crop, .erasing = RandomErasing{.probability = 1}, .output = {}},
      {.transform = ScalePad{.size = {160, 160}, .factor = 0.7}, .output = {}}};
}

TEST(PictureViews, EachIsAsItIsAlone) {
  const testing::Picture picture = make_picture(181, 123);
  EncodedPicture code;
  ASSERT_FALSE(encode_dct_picture(encode_jpeg(picture.view()), code));
  const std::vector<EncodedPicture> files = {encode_jpeg(picture.view()),
                                             encode_png(picture.view()), code,
                                             encode_jpeg_as(picture, {.h_samp = 1, .v_samp = 2}),
                                             encode_jpeg_as(picture, {.progressive = true})};
  for (const EncodedPicture& file : files) {
    for (uint64_t seed = 0; seed < 4; ++seed)
      expect_views_as_alone(all_kinds_of_views(), file, seed);
  }
}

// Crops of at least half of the picture's area allow an eighth of its size, each alone and all
// together.
TEST(PictureViews, ShareAScaledDecode) {
  const EncodedPicture jpeg = encode_jpeg(make_picture(1400, 1100).view());
  const RandomResizedCrop crop{.size = 60, .scale_min = 0.5};
  const std::vector<ImageOptions> options = {{.transform = crop, .output = kViewPixels},
                                             {.transform = crop, .output = {}}};
  const ImageOptions unscaled{
      .transform = RandomResizedCrop{.size = 60, .scale_min = 0.5, .scaled_decode = false},
      .output = kViewPixels};
  EXPECT_NE(view_alone(options[0], jpeg, {}), view_alone(unscaled, jpeg, {}));
  for (uint64_t seed = 0; seed < 4; ++seed) expect_views_as_alone(options, jpeg, seed);
}

// A view that needs all pixels decides for all: the others are made of them, too.
TEST(PictureViews, TheLargestNeedDecidesTheFraction) {
  const EncodedPicture jpeg = encode_jpeg(make_picture(1400, 1100).view());
  const ImageOptions small{.transform = RandomResizedCrop{.size = 60, .scale_min = 0.5},
                           .output = kViewPixels};
  ImageOptions unscaled = small;
  std::get<RandomResizedCrop>(unscaled.transform).scaled_decode = false;
  PictureViews views({small, unscaled});
  const std::array<SampleKey, 2> keys = {};
  PipelineTimes times;
  views.begin(jpeg, std::array<size_t, 2>{0, 1}, keys, times);
  std::vector<uint8_t> out(bytes_of_view(small));
  views.write(0, out.data(), times);
  EXPECT_EQ(out, view_alone(unscaled, jpeg, {}));
}

// Some views have values of 16 bits, others bytes: the picture is decoded for each kind.
TEST(PictureViews, TakeBothKindsOfValuesOfSixteenBits) {
  std::vector<uint8_t> values;
  for (int i = 0; i < 2 * 60 * 50; ++i) values.push_back(static_cast<uint8_t>(i * 7 + i / 50));
  const EncodedPicture png = encode_png_as(60, 50, values, {PNG_COLOR_TYPE_GRAY, 16});
  const RandomResizedCrop crop{.size = 24};
  expect_views_as_alone({{.transform = crop, .output = {}},
                         {.transform = crop, .output = kViewPixels},
                         {.transform = crop, .output = {.dtype = DType::u16, .normalize = false}}},
                        png, 3);
}

TEST(PictureViews, ForgetThePictureBefore) {
  PictureViews views({{.transform = Resize{.size = {8, 8}}, .output = kViewPixels}});
  const size_t view = 0;
  const SampleKey key;
  PipelineTimes times;
  std::vector<uint8_t> out(3 * 8 * 8);
  for (uint32_t seed : {1, 2}) {
    const EncodedPicture jpeg = encode_jpeg(make_picture(40, 30, seed).view());
    views.begin(jpeg, {&view, 1}, {&key, 1}, times);
    views.write(0, out.data(), times);
    EXPECT_EQ(out,
              view_alone({.transform = Resize{.size = {8, 8}}, .output = kViewPixels}, jpeg, key));
  }
  EXPECT_EQ(views.info().width, 40);
  EXPECT_EQ(views.info().height, 30);
}

// The corners of what is taken of the picture become the corners of where it goes.
TEST(PictureViews, TheMatrixSaysWherePixelsGo) {
  const EncodedPicture jpeg = encode_jpeg(make_picture(100, 60).view());
  const std::vector<ImageOptions> options = {
      {.transform = Resize{.size = {30, 200}}},
      {.transform = RandomCrop{.size = 20, .pad_if_needed = true, .flip_probability = 1}},
      {.transform = RandomCrop{.size = 140, .pad_if_needed = true, .flip_probability = 0}},
      {.transform = ResizeCenterCrop{.resize = 30, .size = 20}},
      {.transform = RandomResizedCrop{.size = 50, .flip_probability = 1}},
      // Nothing of the picture is in the window.
      {.transform = ResizeCrop{.size = {10, 10},
                               .factor_min = 0.5,
                               .factor_max = 0.5,
                               .bottom_min = 0.999,
                               .bottom_max = 0.999}}};
  PictureViews views(options);
  const std::vector<size_t> view_of = {0, 1, 2, 3, 4, 5};
  const std::vector<SampleKey> keys(6, SampleKey{.seed = 5});
  PipelineTimes times;
  views.begin(jpeg, view_of, keys, times);
  EXPECT_EQ(views.matrix(0), (ViewMatrix{2, 0, 0, 0, 0.5, 0, 0, 0, 1}));
  const ViewMatrix mirrored = views.matrix(1);
  EXPECT_EQ(mirrored[0], -1);
  const CropPlan& crop = std::get<CropPlan>(views.moves(1).front().what);
  EXPECT_EQ(mirrored[2], crop.taken.x + 20);
  EXPECT_EQ(mirrored[5], -crop.taken.y);
  // A window that is larger than the picture: the picture lies in it somewhere.
  const ViewMatrix padded = views.matrix(2);
  EXPECT_EQ(padded[0], 1);
  EXPECT_EQ(padded[2], std::get<CropPlan>(views.moves(2).front().what).x);
  EXPECT_EQ(padded[5], std::get<CropPlan>(views.moves(2).front().what).y);
  EXPECT_EQ(views.matrix(3), (ViewMatrix{0.5, 0, -15, 0, 0.5, -5, 0, 0, 1}));
  const CropPlan& resized = std::get<CropPlan>(views.moves(4).front().what);
  const ViewMatrix both = views.matrix(4);
  EXPECT_NEAR(both[0] * resized.box.x + both[2], 50, 1e-9);
  EXPECT_NEAR(both[0] * (resized.box.x + resized.box.width) + both[2], 0, 1e-9);
  EXPECT_NEAR(both[4] * resized.box.y + both[5], 0, 1e-9);
  EXPECT_NEAR(both[4] * (resized.box.y + resized.box.height) + both[5], 50, 1e-9);
  EXPECT_EQ(std::get<CropPlan>(views.moves(5).front().what).taken.width, 0);
  EXPECT_EQ(views.matrix(5), (ViewMatrix{0.5, 0, -20, 0, 0.5, 10, 0, 0, 1}));
}

class TopLeft final : public PixelTransform {
 public:
  void apply(const RgbImage& image, CounterRandom& random) const override {
    // Depends on all of the picture, and on its size.
    uint8_t most = 0;
    for (int y = 0; y < image.height; ++y) {
      const uint8_t* row = image.row(y);
      most = std::max(most, *std::max_element(row, row + 3 * image.width));
    }
    image.row(0)[0] = static_cast<uint8_t>(most ^ image.width ^ image.height ^ random.below(8));
  }
};

// What an augmentation or the erasing makes of a picture does not depend on the canvas that
// PadToLargest puts it on: it is what it makes of the picture without.
TEST(PictureViews, PaddingIsNoPicture) {
  const EncodedPicture jpeg = encode_jpeg(make_picture(60, 45).view());
  const std::vector<Augmentation> kinds = {ColorJitter{.contrast = {0.3, 0.4}},
                                           RandAugment{.num_ops = 3},
                                           TrivialAugmentWide{},
                                           AutoAugment{},
                                           GaussianBlur{.sigma = 2},
                                           GaussianBlur{.sigma = 2, .kernel_size = 7},
                                           Equalize{},
                                           AutoContrast{},
                                           AdjustSharpness{.factor = 4},
                                           Apply{.probability = 1, .augmentations = {Equalize{}}},
                                           OneOf{.augmentations = {AutoContrast{}}},
                                           std::make_shared<const TopLeft>()};
  const RandomErasing erasing{.probability = 1, .value = 200};
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    for (const int channels : {1, 3}) {
      const auto pixels = [&](const Augmentation* kind, std::vector<GeometryStep> steps,
                              int64_t n) {
        ImageOptions options{.transform = Compose{std::move(steps)}, .output = kViewPixels};
        options.output.layout = layout;
        options.output.channels = channels;
        if (kind != nullptr) {
          options.augmentations = {*kind};
        } else {
          options.erasing = erasing;
        }
        EXPECT_NO_THROW(validate(options));
        return view_alone(options, jpeg, {3, 1, n});
      };
      for (size_t i = 0; i <= kinds.size(); ++i) {
        const Augmentation* kind = i < kinds.size() ? &kinds[i] : nullptr;
        for (int64_t n = 0; n < 4; ++n) {
          const std::vector<GeometryStep> steps = {RandomHorizontalFlip{},
                                                   Resize{.size = {30, 41}}};
          const auto alone = pixels(kind, steps, n);
          for (const ImageSize size : {ImageSize(30, 41), ImageSize(64, 50)}) {
            std::vector<GeometryStep> padded = steps;
            padded.push_back(PadToLargest{.size = size});
            const auto all = pixels(kind, padded, n);
            const bool planar = layout == Layout::nchw;
            const int64_t row = (planar ? 1 : channels) * size.width;
            const int64_t width = (planar ? 1 : channels) * 41;
            for (int64_t plane = 0; plane < (planar ? channels : 1); ++plane) {
              for (int64_t y = 0; y < size.height; ++y) {
                const auto at = all.begin() + (plane * size.height + y) * row;
                ASSERT_EQ(std::count(at + (y < 30 ? width : 0), at + row, 0),
                          row - (y < 30 ? width : 0));
                if (y >= 30) continue;
                ASSERT_TRUE(std::equal(at, at + width, alone.begin() + (plane * 30 + y) * width))
                    << "kind " << i << ", row " << y;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ffkit
