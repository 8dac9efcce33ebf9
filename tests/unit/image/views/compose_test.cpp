// Compose: steps that become one make the same pixels, masks and places as one after the other.
#include <png.h>

#include "image_prelude.h"
#include "moves/moves.h"
#include "views/mask_scaler.h"

namespace ffkit {
namespace {

std::vector<std::byte> composed_picture() {
  const testing::Picture picture = testing::make_picture(83, 64);
  return testing::encode_png_as(83, 64, picture.rgb, {});
}

struct ComposedView {
  size_t num_moves = 0;
  ViewMatrix matrix = {};
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> mask;
};

ComposedView view_of(const std::vector<std::byte>& png, const Compose& compose, uint64_t seed) {
  const ImageOptions options{
      .transform = compose,
      .output = {.dtype = DType::u8, .layout = Layout::nhwc, .normalize = false}};
  validate(options);
  const ImageSize size = image_size(options.transform);
  const auto num_pixels = static_cast<size_t>(size.height * size.width);
  PictureViews views({options});
  const size_t first = 0;
  const SampleKey key{.seed = seed};
  PipelineTimes times;
  const auto boxes = [](size_t, const ImageInfo& info) {
    const double width = info.width, height = info.height;
    return std::vector<BoxEdges>{{width / 4, height / 4, width / 2, height / 2}};
  };
  views.begin(png, {&first, 1}, {&key, 1}, times, boxes);
  ComposedView view{.num_moves = views.moves(0).size(), .matrix = views.matrix(0)};
  view.pixels.resize(3 * num_pixels);
  views.write(0, view.pixels.data(), times);
  const ImageInfo& info = views.info();
  std::vector<uint8_t> numbers(static_cast<size_t>(info.width) * static_cast<size_t>(info.height));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i * 7 + i / 64);
  view.mask.resize(num_pixels);
  MaskScaler(MaskOptions{})
      .run({.data = numbers.data(),
            .dtype = DType::u8,
            .width = info.width,
            .height = info.height,
            .stride = info.width},
           views.moves(0), view.mask.data());
  return view;
}

// The same steps with two turns upside down behind each, which keep them apart and change nothing.
Compose kept_apart(const Compose& compose) {
  Compose apart;
  for (const GeometryStep& step : compose.steps) {
    apart.steps.push_back(step);
    apart.steps.insert(apart.steps.end(), {RandomVerticalFlip{.probability = 1},
                                           RandomVerticalFlip{.probability = 1}});
  }
  return apart;
}

TEST(Compose, StepsThatBecomeOneChangeNothing) {
  const RgbColor grey = {90, 91, 92};
  const std::vector<Compose> chains = {
      {{ScaleJitter{.size = 60, .scale_min = 0.4}, FixedSizeCrop{.size = 60, .fill = grey},
        RandomHorizontalFlip{}}},
      {{RandomHorizontalFlip{}, CenterCrop{.size = {50, 40}}, RandomHorizontalFlip{}}},
      {{CenterCrop{.size = {50, 40}},
        Resize{.size = {31, 77}, .interpolation = Interpolation::bicubic}, RandomHorizontalFlip{}}},
      {{Resize{.size = 48},
        RandomCrop{.size = 40, .padding = 9, .pad_if_needed = true, .fill = grey}}},
      {{Pad{.padding = {3, 0, 8, 20}, .fill = grey},
        RandomCrop{.size = 45, .pad_if_needed = true, .fill = grey}}},
      {{RandomIoUCrop{}, Resize{.size = {50, 50}}, RandomHorizontalFlip{}}},
      {{FixedSizeCrop{.size = {30, 45}}, RandomResizedCrop{.size = 25, .scaled_decode = false}}},
      {{RandomShortestSize{.sizes = {30, 40}, .max_size = 70},
        FixedSizeCrop{.size = 70, .fill = grey}, CenterCrop{.size = 64}}},
  };
  const std::vector<std::byte> png = composed_picture();
  for (size_t i = 0; i < chains.size(); ++i) {
    size_t num_joined = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(::testing::Message() << "chain " << i << ", seed " << seed);
      const ComposedView one = view_of(png, chains[i], seed);
      const ComposedView many = view_of(png, kept_apart(chains[i]), seed);
      EXPECT_GE(many.num_moves, chains[i].steps.size());
      num_joined += one.num_moves == 1 ? 1 : 0;
      EXPECT_EQ(one.pixels, many.pixels);
      EXPECT_EQ(one.mask, many.mask);
      for (size_t k = 0; k < 9; ++k) EXPECT_NEAR(one.matrix[k], many.matrix[k], 1e-9);
    }
    EXPECT_GT(num_joined, 15U) << "chain " << i;
  }
}

TEST(Compose, FillsOfTwoColoursStayApart) {
  const Compose compose{{Pad{.padding = 4, .fill = {1, 1, 1}}, Pad{.padding = 3, .fill = {2, 2, 2}},
                         CenterCrop{.size = {78, 97}}}};
  const ComposedView view = view_of(composed_picture(), compose, 0);
  EXPECT_GT(view.num_moves, 1U);
  EXPECT_EQ(view.pixels[0], 2);
  EXPECT_EQ(view.pixels[3 * (97 * 3 + 3)], 1);
}

TEST(Compose, ACanvasOfTooManyPixelsIsRefused) {
  const Compose compose{{Resize{.size = 8000}, Pad{.padding = 8000},
                         RandomZoomOut{.side_min = 3, .probability = 1}, Resize{.size = {8, 8}}}};
  EXPECT_ERROR(view_of(composed_picture(), compose, 0), unsupported);
}

TEST(Compose, OptionsOutOfRangeAreRefused) {
  const std::vector<std::vector<GeometryStep>> refused = {
      {},
      {RandomRotation{}},
      {Resize{}, RandomZoomOut{}},
      {Resize{.size = {8000, 8000}}, Pad{.padding = 200}},
      {Resize{}, Pad{.padding = -1}},
      {Resize{}, RandomHorizontalFlip{.probability = 1.5}},
      {Resize{}, RandomVerticalFlip{.probability = -1}},
      {Resize{}, RandomRotation{.degrees = {10, 400}}},
      {Resize{}, RandomRotation{.degrees = {10, 5}}},
      {Resize{}, RandomAffine{.degrees = {-500, 0}}},
      {Resize{}, RandomAffine{.translate_x = 1.5}},
      {Resize{}, RandomAffine{.translate_y = NAN}},
      {Resize{}, RandomAffine{.scale_min = 0}},
      {Resize{}, RandomAffine{.shear_x = 90}},
      {Resize{}, RandomAffine{.shear_y = {-100, 0}}},
      {Resize{}, RandomPerspective{.distortion = 2}},
      {Resize{}, RandomPerspective{.probability = 2}},
      {RandomZoomOut{.side_min = 0.5}, Resize{}},
      {RandomZoomOut{.probability = 7}, Resize{}},
      {RandomIoUCrop{.scale_min = 0}, Resize{}},
      {RandomIoUCrop{.ratio_min = 3}, Resize{}},
      {RandomIoUCrop{.overlaps = {}}, Resize{}},
      {RandomIoUCrop{.overlaps = {-1}}, Resize{}},
      {RandomIoUCrop{.trials = 0}, Resize{}},
      {ScaleJitter{.size = 0}, Resize{}},
      {ScaleJitter{.scale_max = 17}, Resize{}},
      {FixedSizeCrop{.size = 10000}},
      {CenterCrop{.size = 0}},
      {RandomShortestSize{.sizes = {}}, Resize{}},
      {RandomShortestSize{.sizes = {0}}, Resize{}},
      {RandomShortestSize{.max_size = -1}, Resize{}},
      {Resize{.size = 0}, Resize{}},
      {Resize{.size = 100, .max_size = 100}, Resize{}},
  };
  for (const auto& steps : refused) {
    EXPECT_ERROR(validate(ImageOptions{.transform = Compose{steps}}), invalid_argument);
  }
  EXPECT_ERROR(validate(ImageOptions{.transform = Compose{{Resize{}}},
                                     .output = {.dtype = DType::u16, .normalize = false}}),
               invalid_argument);
  EXPECT_ERROR(from_name<WarpFilter>("lanczos"), invalid_argument);
  EXPECT_EQ(to_string(from_name<WarpFilter>("bicubic")), "bicubic");
}

}  // namespace
}  // namespace ffkit
