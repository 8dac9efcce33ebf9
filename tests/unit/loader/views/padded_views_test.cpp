// Views that end with PadToLargest.
#include "loader_prelude.h"

namespace ffkit {
namespace {

// Pictures of 48 to 52 x 40 pixels.
LoaderOptions padded_options(PadToLargest padding) {
  LoaderOptions options;
  options.batch_size = 4;
  options.num_threads = 2;
  options.sampler = {.order = Order::sequential, .tail = Tail::exact};
  options.image = {.transform = Compose{.steps = {padding}},
                   .output = {.dtype = DType::u8, .normalize = false}};
  options.view_fields = {{"valid", PixelMaskField{}}};
  return options;
}

std::vector<int64_t> extents_of(const BatchArray& array) {
  return {array.shape.begin(), array.shape.end()};
}

TEST(PaddedViews, AreAsLargeAsTheLargestPictureOfTheBatch) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 6});
  Loader loader(dataset, padded_options({.size = {64, 80}, .multiple = 3}));
  loader.set_epoch(0);
  const std::optional<Batch> first = loader.next();
  EXPECT_THAT(extents_of(first->field("image")), ElementsAre(4, 3, 42, 51));
  EXPECT_THAT(first->shape(), ElementsAre(4, 3, 42, 51));
  EXPECT_THAT(extents_of(first->field("valid")), ElementsAre(4, 42, 51));
  const auto* sizes = static_cast<const int64_t*>(first->unpadded_sizes("image").data);
  EXPECT_THAT(std::vector(sizes, sizes + 8), ElementsAre(40, 48, 40, 49, 40, 50, 40, 51));
  const auto* valid = static_cast<const uint8_t*>(first->field("valid").data);
  EXPECT_EQ(std::count(valid, valid + 4 * 42 * 51, 1), 40 * (48 + 49 + 50 + 51));
  const std::vector<PaddedArray> arrays = first->padded_arrays();
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].name, "image");
  EXPECT_EQ(arrays[0].height_axis, 2U);
  EXPECT_EQ(arrays[1].name, "valid");
  EXPECT_EQ(arrays[1].height_axis, 1U);
  const Batch copy = first->copy();
  EXPECT_EQ(extents_of(copy.field("image")), extents_of(first->field("image")));
  // The pictures 4 and 5, of 52 and 48 pixels; no side is larger than the canvas.
  const std::optional<Batch> last = loader.next();
  EXPECT_THAT(extents_of(last->field("image")), ElementsAre(2, 3, 42, 54));
}

TEST(PaddedViews, OtherViewsAreNot) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 6});
  LoaderOptions options = padded_options({});
  options.image.transform = Resize{.size = {8, 8}};
  Loader loader(dataset, options);
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_TRUE(batch->padded_arrays().empty());
  EXPECT_ERROR(batch->unpadded_sizes("image"), not_found, .subject = field);
  EXPECT_TRUE(Batch().padded_arrays().empty());
}

TEST(PaddedViews, RefuseWhatCannotBe) {
  const testing::TempDir dir;
  const Dataset dataset = testing::make_dataset(dir / "train", {.num_records = 6});
  const auto open = [&](LoaderOptions options) { Loader loader(dataset, options); };
  LoaderOptions options = padded_options({});
  options.mixing.mixup_alpha = 1;
  EXPECT_ERROR(open(options), invalid_argument);
  options = padded_options({});
  options.image.transform = Compose{.steps = {PadToLargest{}, RandomVerticalFlip{}}};
  EXPECT_ERROR(open(options), invalid_argument);
  EXPECT_ERROR(open(padded_options({.multiple = 0})), invalid_argument);
  EXPECT_ERROR(decode_image(dataset.schema(), "image", padded_options({}).image), invalid_argument);
  options = padded_options({});
  options.image = {.transform = Resize{.size = {8, 8}}, .output = {.channels = 1}};
  EXPECT_ERROR(open(options), invalid_argument);
  Loader loader(dataset, padded_options({.size = {64, 50}}));
  loader.set_epoch(0);
  EXPECT_ERROR(loader.next(), unsupported, .record = 1);
}

}  // namespace
}  // namespace ffkit
