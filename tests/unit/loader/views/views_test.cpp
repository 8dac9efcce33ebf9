// Views through the loader: what follows a picture, and how threads share its pixels.
#include "view_records.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

using testing::make_picture;

std::vector<int64_t> shape_of(const BatchArray& array) {
  return {array.shape.begin(), array.shape.end()};
}

// All bytes of the first epoch, with the places of rows and the geometry.
std::vector<std::vector<std::byte>> epoch_of(const Dataset& dataset, const LoaderOptions& options) {
  std::vector<std::vector<std::byte>> all;
  Loader loader(dataset, options);
  loader.set_epoch(0);
  while (std::optional<Batch> batch = loader.next()) {
    for (size_t i = 0; i < batch->num_fields(); ++i) {
      all.push_back(values_of<std::byte>(batch->field(i)));
      if (!batch->has_rows(i)) continue;
      const auto offsets = std::as_bytes(batch->row_offsets(batch->field_name(i)));
      all.emplace_back(offsets.begin(), offsets.end());
    }
    for (const std::string& view : batch->views()) {
      all.push_back(values_of<std::byte>(batch->geometry(view)));
    }
  }
  return all;
}

const std::vector<View> kTwoViews = {
    {"global", {.transform = RandomResizedCrop{.size = 24, .scale_min = 0.4}}, 2},
    {"local", {.transform = RandomResizedCrop{.size = 12, .scale_max = 0.3}}, 0}};

TEST_F(ViewsTest, ArraysHaveTheCopiesOfTheirView) {
  Loader loader(
      dataset(),
      options_of(kTwoViews, {{"mask", MaskField{.field = "mask", .view = "global"}},
                             {"boxes", BoxesField{.view = "local"}},
                             {"depth", PictureField{.field = "depth", .view = "global"}}}));
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_EQ(batch->num_fields(), 6U);
  EXPECT_EQ(shape_of(batch->field("global")), (std::vector<int64_t>{3, 2, 3, 24, 24}));
  EXPECT_EQ(shape_of(batch->field("local")), (std::vector<int64_t>{3, 3, 12, 12}));
  EXPECT_EQ(shape_of(batch->field("mask")), (std::vector<int64_t>{3, 2, 24, 24}));
  EXPECT_EQ(shape_of(batch->field("depth")), (std::vector<int64_t>{3, 2, 3, 24, 24}));
  EXPECT_THAT(values_of<int64_t>(batch->field("label")), ElementsAre(0, 1, 2));
  EXPECT_THAT(batch->labels(), ElementsAre(0, 1, 2));
  EXPECT_EQ(batch->image_field(), std::nullopt);
  EXPECT_EQ(batch->images(), nullptr);
  EXPECT_THAT(batch->views(), ElementsAre("global", "local"));
  EXPECT_EQ(shape_of(batch->geometry("global")), (std::vector<int64_t>{3, 2, 3, 3}));
  EXPECT_EQ(shape_of(batch->geometry("local")), (std::vector<int64_t>{3, 3, 3}));
  EXPECT_THAT(values_of<int64_t>(batch->source_sizes()), ElementsAre(50, 60, 50, 67, 50, 74));
  EXPECT_ERROR(batch->geometry("image"), not_found, .subject = field);
  // The depth is the same picture, so its copies are the same crops.
  EXPECT_EQ(values_of<float>(batch->field("depth")), values_of<float>(batch->field("global")));
  const std::vector<double> matrices = values_of<double>(batch->geometry("global"));
  EXPECT_NE(std::vector<double>(matrices.begin(), matrices.begin() + 9),
            std::vector<double>(matrices.begin() + 9, matrices.begin() + 18));
}

TEST_F(ViewsTest, ACopyOfABatchHasItsGeometry) {
  Loader loader(dataset(), options_of({}, {}));
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  const Batch copy = batch->copy();
  EXPECT_THAT(copy.views(), ElementsAre("image"));
  EXPECT_EQ(values_of<double>(copy.geometry("image")), values_of<double>(batch->geometry("image")));
  EXPECT_EQ(values_of<int64_t>(copy.source_sizes()), values_of<int64_t>(batch->source_sizes()));
  EXPECT_TRUE(Batch().views().empty());
}

TEST_F(ViewsTest, ALoaderWithoutAPictureHasNoViews) {
  LoaderOptions options = options_of({}, {});
  options.image_field = "";
  Loader loader(dataset(), options);
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_TRUE(batch->views().empty());
  EXPECT_ERROR(batch->source_sizes(), not_found, .subject = field);
}

// Decoders with parts make threads share the arrays of a sample, so that not all of a picture's
// views are decoded by one thread.
TEST_F(ViewsTest, AreTheSameForAnyNumberOfThreads) {
  LoaderOptions options = options_of(
      kTwoViews,
      {{"mask", MaskField{.field = "mask", .view = "local"}},
       {"boxes", BoxesField{.view = "local", .min_size = 0}},
       {"labels", BoxRowsField{.field = "labels"}},
       {"points", PointsField{.field = "points", .num_points = 2, .counts = PointCount::edges}},
       {"boxes of copies", BoxesField{.view = "global"}},
       {"labels of copies", BoxRowsField{.field = "labels", .boxes = "boxes of copies"}}});
  options.fields = {{"cameras", decode_images(schema(), {"image", "depth"},
                                              {.transform = Resize{.size = {10, 10}}})}};
  options.num_threads = 1;
  const auto expected = epoch_of(dataset(), options);
  for (const int threads : {2, 5}) {
    options.num_threads = threads;
    options.memory.prefetch_batches = threads;
    EXPECT_EQ(epoch_of(dataset(), options), expected);
  }
}

// A record that comes twice, or whose numbers others share, is not taken for what was decoded
// before.
TEST_F(ViewsTest, TellSamplesApart) {
  LoaderOptions options =
      options_of({}, {{"mask", MaskField{.field = "mask", .mask = {.fill = 77}}}});
  options.sampler.order = Order::sequential;
  options.sampler.groups = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0});
  options.sampler.share_randomness = true;
  options.batch_size = 1;
  for (const int threads : {1, 2}) {
    options.num_threads = threads;
    Loader loader(dataset(), options);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader.set_epoch(epoch);
      while (std::optional<Batch> batch = loader.next()) {
        const int64_t record = batch->record_indices()[0];
        const std::vector<uint8_t> mask = values_of<uint8_t>(batch->field("mask"));
        EXPECT_THAT(mask, ::testing::Each(record));
        EXPECT_THAT(values_of<int64_t>(batch->source_sizes()), ElementsAre(50, 60 + 7 * record));
      }
    }
  }
}

TEST_F(ViewsTest, BoxesAreMovedClippedAndDroppedWithTheirNumbers) {
  // The upper left 30 x 20 pixels of the picture, not resized.
  const ResizeCrop crop{.size = {20, 30},
                        .factor_min = 1,
                        .factor_max = 1,
                        .bottom_min = 0.6,
                        .bottom_max = 0.6,
                        .centered = false};
  LoaderOptions options = options_of(
      {{"v", {.transform = crop}}},
      {{"boxes", BoxesField{.min_size = 3, .layout = RowLayout::padded}},
       {"labels", BoxRowsField{.field = "labels"}},
       {"points",
        PointsField{
            .field = "points", .num_points = 2, .mirrored = {{0, 1}}, .counts = PointCount::edges}},
       {"half", BoxesField{.output = {.format = BoxFormat::cxcywh, .is_relative = true},
                           .min_visible = 0.5}},
       {"half labels", BoxRowsField{.field = "labels", .boxes = "half"}}});
  options.batch_size = 6;
  Loader loader(dataset(), options);
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  const std::vector<double> matrices = values_of<double>(batch->geometry("v"));
  const std::vector<float> boxes = values_of<float>(batch->field("boxes"));
  const std::vector<int64_t> labels = values_of<int64_t>(batch->field("labels"));
  const std::vector<float> points = values_of<float>(batch->field("points"));
  int64_t num_half = 0;
  for (int64_t i = 0; i < kNumRecords; ++i) {
    const double dx = matrices[static_cast<size_t>(9 * i + 2)];
    const double dy = matrices[static_cast<size_t>(9 * i + 5)];
    EXPECT_EQ(dy, 0);
    int64_t row = batch->row_offsets("boxes")[static_cast<size_t>(i)];
    const int64_t first = row;
    for (int64_t j = 0; j < kNumBoxes; ++j) {
      const double left = std::clamp(5.0 * static_cast<double>(j) + dx, 0.0, 30.0);
      const double right = std::clamp(5.0 * static_cast<double>(j) + 10 + dx, 0.0, 30.0);
      const double top = 4.0 * static_cast<double>(j);
      const double bottom = std::min(top + 8, 20.0);
      if ((right - left) * (bottom - top) >= 0.5 * 80 && right - left >= 1 && bottom - top >= 1) {
        ++num_half;
      }
      if (right - left < 3 || bottom - top < 3) continue;
      const auto at = static_cast<size_t>(100 * i + row - first);
      EXPECT_THAT(std::vector<float>(&boxes[4 * at], &boxes[4 * at + 4]),
                  ElementsAre(left, top, right, bottom));
      EXPECT_EQ(labels[at], 100 * i + j);
      const double x = 5.0 * static_cast<double>(j) + dx;
      EXPECT_FLOAT_EQ(points[6 * at], static_cast<float>(x));
      EXPECT_FLOAT_EQ(points[6 * at + 1], static_cast<float>(top));
      EXPECT_EQ(points[6 * at + 2], x >= 0 && x <= 30 ? 1 : 0);
      EXPECT_EQ(points[6 * at + 5], x + 10 >= 0 && x + 10 <= 30 && top + 8 <= 20 ? 2 : 0);
      ++row;
    }
    EXPECT_EQ(batch->row_offsets("boxes")[static_cast<size_t>(i) + 1], row);
    EXPECT_EQ(boxes[static_cast<size_t>(4 * (100 * i + row - first))], 0);
  }
  const BatchArray half = batch->field("half");
  EXPECT_EQ(shape_of(half), (std::vector<int64_t>{num_half, 4}));
  EXPECT_EQ(batch->field("half labels").shape[0], num_half);
  for (const float value : values_of<float>(half)) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
}

// The boxes, labels and points of one picture.
struct RowsOfPicture {
  std::vector<float> boxes;
  std::vector<int64_t> labels;
  std::vector<float> points;
  bool operator==(const RowsOfPicture&) const = default;
};

// Of picture `i`, with the copies of a sample behind each other, whose rows begin at `begin`.
RowsOfPicture rows_of(const Batch& batch, int64_t i, int64_t begin) {
  const auto offsets = batch.row_offsets("boxes");
  const int64_t num_rows = offsets[static_cast<size_t>(i) + 1] - offsets[static_cast<size_t>(i)];
  const auto rows = [&]<typename T>(const char* name, int64_t row_size, std::vector<T>& to) {
    EXPECT_THAT(batch.row_offsets(name), ::testing::ElementsAreArray(offsets));
    const T* from = static_cast<const T*>(batch.field(name).data) + begin * row_size;
    to.assign(from, from + num_rows * row_size);
  };
  RowsOfPicture of;
  rows("boxes", 4, of.boxes);
  rows("labels", 1, of.labels);
  rows("points", 6, of.points);
  return of;
}

// Each copy has the rows that a loader of one view has whose numbers are those of the copy.
// Each record has a good box, and then one that means nothing; the last one has that alone.
TEST_F(ViewsTest, BoxesWithoutAreaAreLeftOutWithTheirNumbersAndCounted) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> bad = {
      {5, 5, 0, 9}, {5, 5, 9, -1}, {kNaN, 5, 9, 9}, {0, 0, INFINITY, 4}, {0, 0, 0, 0}};
  const Schema fields = schema();
  testing::write_split(dir_ / "bad", fields, std::ssize(bad), [&](int64_t i) {
    const auto good = record(i);
    const RecordView view(fields, good);
    RecordBuilder builder(fields);
    for (const size_t image : {0, 1}) builder.set_bytes(image, view.bytes(image));
    builder.set_scalar<int64_t>(2, i);
    builder.set_tensor(3, view.tensor(3));
    std::vector<double> boxes = bad[static_cast<size_t>(i)];
    if (i < 4) boxes.insert(boxes.begin(), {0, 0, 20, 20});
    const int64_t n = std::ssize(boxes) / 4;
    const std::vector<int64_t> labels = {n == 2 ? 1 : 7, 7};
    builder.set_tensor(4, {DType::f64, {n, 4}, std::as_bytes(std::span(boxes))});
    builder.set_tensor(5, {DType::i64, {n}, std::as_bytes(std::span(labels).first(n))});
    return testing::encoded(builder);
  });
  LoaderOptions options = options_of({{"v", {.transform = Resize{.size = {50, 60}}}, 2}},
                                     {{"boxes", BoxesField{}}, {"labels", BoxRowsField{"labels"}}});
  options.batch_size = 5;
  std::vector<std::string> warnings;
  options.on_warning = [&](std::string_view warning) { warnings.emplace_back(warning); };
  Loader loader(Dataset::open(dir_ / "bad"), options);
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_THAT(batch->row_offsets("boxes"), ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8));
  EXPECT_EQ(values_of<int64_t>(batch->field("labels")), std::vector<int64_t>(8, 1));
  EXPECT_GE(loader.statistics().num_items_left_out, 5);  // more may be decoded ahead
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], ::testing::HasSubstr("of field 'boxes' has no area; such items"));
}

TEST_F(ViewsTest, EachCopyHasItsBoxes) {
  constexpr int64_t kCopies = 3;
  constexpr int64_t kMaxBoxes = 5;
  const ImageOptions crop{.transform = RandomResizedCrop{.size = 24, .scale_max = 0.3}};
  const auto first_batch = [&](std::vector<View> views, uint64_t seed, RowLayout layout) {
    LoaderOptions options = options_of(
        std::move(views),
        {{"boxes", BoxesField{.min_visible = 0.3, .max_boxes = kMaxBoxes, .layout = layout}},
         {"labels", BoxRowsField{.field = "labels"}},
         {"points", PointsField{.field = "points",
                                .num_points = 2,
                                .mirrored = {{0, 1}},
                                .counts = PointCount::edges}}});
    options.batch_size = kNumRecords;
    options.image = options.views.empty() ? crop : ImageOptions();
    options.sampler.seed = seed;
    Loader loader(dataset(), options);
    loader.set_epoch(0);
    return *loader.next();
  };
  const std::vector<View> copies = {{"v", crop, kCopies}};
  const Batch ragged = first_batch(copies, 7, RowLayout::ragged);
  const Batch padded = first_batch(copies, 7, RowLayout::padded);
  const auto offsets = ragged.row_offsets("boxes");
  ASSERT_EQ(offsets.size(), static_cast<size_t>(kNumRecords * kCopies + 1));
  EXPECT_EQ(shape_of(ragged.field("boxes")), (std::vector<int64_t>{offsets.back(), 4}));
  EXPECT_EQ(shape_of(ragged.field("points")), (std::vector<int64_t>{offsets.back(), 2, 3}));
  EXPECT_EQ(shape_of(padded.field("boxes")),
            (std::vector<int64_t>{kNumRecords, kCopies, kMaxBoxes, 4}));
  EXPECT_EQ(shape_of(padded.field("labels")),
            (std::vector<int64_t>{kNumRecords, kCopies, kMaxBoxes}));
  EXPECT_EQ(shape_of(padded.field("points")),
            (std::vector<int64_t>{kNumRecords, kCopies, kMaxBoxes, 2, 3}));
  std::set<int64_t> counts;
  for (int64_t copy = 0; copy < kCopies; ++copy) {
    const Batch single = first_batch({}, view_key({.seed = 7}, "v", copy).seed, RowLayout::ragged);
    for (int64_t i = 0; i < kNumRecords; ++i) {
      const int64_t picture = i * kCopies + copy;
      const RowsOfPicture expected =
          rows_of(single, i, single.row_offsets("boxes")[static_cast<size_t>(i)]);
      EXPECT_EQ(rows_of(ragged, picture, offsets[static_cast<size_t>(picture)]), expected);
      EXPECT_EQ(rows_of(padded, picture, picture * kMaxBoxes), expected);
      counts.insert(std::ssize(expected.labels));
    }
  }
  EXPECT_TRUE(counts.contains(0)) << "no copy is without boxes";
  EXPECT_GT(counts.size(), 2U);
  // Behind the rows are zeros.
  const std::vector<int64_t> labels = values_of<int64_t>(padded.field("labels"));
  for (int64_t picture = 0; picture < kNumRecords * kCopies; ++picture) {
    const auto at = static_cast<size_t>(picture);
    for (int64_t row = offsets[at + 1] - offsets[at]; row < kMaxBoxes; ++row) {
      EXPECT_EQ(labels[static_cast<size_t>(picture * kMaxBoxes + row)], 0);
    }
  }
  const Batch copy = ragged.copy();
  EXPECT_THAT(copy.row_offsets("boxes"), ::testing::ElementsAreArray(offsets));
  EXPECT_EQ(values_of<float>(copy.field("points")), values_of<float>(ragged.field("points")));
}

TEST_F(ViewsTest, MoreBoxesThanMaxBoxesMakeABadSample) {
  for (const int64_t copies : {0, 2}) {
    Loader loader(dataset(), options_of({{"v", {.transform = Resize{.size = {40, 40}}}, copies}},
                                        {{"boxes", BoxesField{.max_boxes = 3}}}));
    loader.set_epoch(0);
    EXPECT_ERROR(loader.next(), unsupported, .record = 0, .subject = sample);
  }
}

// A RandomIoUCrop plans each copy by the boxes.
TEST_F(ViewsTest, CropsThatNeedBoxesMayHaveCopies) {
  const Compose steps{{RandomIoUCrop{}, Resize{.size = {24, 24}}}};
  Loader loader(dataset(), options_of({{"v", {.transform = steps}, 4}},
                                      {{"boxes", BoxesField{.layout = RowLayout::padded}}}));
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_EQ(shape_of(batch->field("boxes")), (std::vector<int64_t>{3, 4, 100, 4}));
  const std::vector<double> matrices = values_of<double>(batch->geometry("v"));
  std::set<std::vector<double>> different;
  for (auto at = matrices.begin(); at != matrices.end(); at += 9) different.emplace(at, at + 9);
  EXPECT_GT(different.size(), 3U);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_GT(batch->row_offsets("boxes")[i + 1], batch->row_offsets("boxes")[i]);
  }
}

TEST_F(ViewsTest, WhatDoesNotFitIsRefused) {
  const auto refused = [&](std::vector<View> views, std::vector<ViewField> fields) {
    EXPECT_ERROR(Loader(dataset(), options_of(std::move(views), std::move(fields))),
                 invalid_argument);
  };
  refused(kTwoViews, {{"mask", MaskField{.field = "mask"}}});
  refused(kTwoViews, {{"mask", MaskField{.field = "mask", .view = "other"}}});
  refused({}, {{"mask", MaskField{.field = "boxes"}}});
  refused({}, {{"boxes", BoxesField{.field = "mask", .min_visible = 1.5}}});
  refused({}, {{"boxes", BoxesField{.min_size = -1}}});
  refused({}, {{"boxes", BoxesField{.max_boxes = 0}}});
  refused({}, {{"labels", BoxRowsField{.field = "labels"}}});
  refused({}, {{"boxes", BoxesField{}}, {"labels", BoxRowsField{.field = "label"}}});
  refused({}, {{"boxes", BoxesField{}}, {"labels", BoxRowsField{.field = "labels", .shape = {0}}}});
  refused({}, {{"boxes", BoxesField{}}, {"points", PointsField{.field = "labels"}}});
  refused({}, {{"boxes", BoxesField{}},
               {"points", PointsField{.field = "points", .num_points = 2, .mirrored = {{0, 2}}}}});
  refused({{"v", {}, -1}}, {});
  refused({{"v", {}}, {"v", {}}}, {});
  refused({}, {{"depth", PictureField{.field = "label"}}});
  refused({{"v", {.augmentations = {RandAugment{}}}}},
          {{"depth",
            PictureField{.field = "depth", .output = {.dtype = DType::u16, .normalize = false}}}});
  refused({}, {{"depth", PictureField{.field = "depth", .augmentations = {RandAugment{}}}}});
  refused({{"v", {.transform = Compose{{RandomRotation{}, Resize{}}}}}},
          {{"depth",
            PictureField{.field = "depth", .output = {.dtype = DType::i32, .normalize = false}}}});
  refused({{"v", {.transform = Compose{{RandomIoUCrop{}, Resize{}}}}}},
          {{"mask", MaskField{.field = "mask"}}});
  LoaderOptions options = options_of(kTwoViews, {});
  options.mixing.cutmix_alpha = 1;
  EXPECT_ERROR(Loader(dataset(), options), invalid_argument);
  options = options_of(kTwoViews, {});
  options.image_field = "";
  EXPECT_ERROR(Loader(dataset(), options), invalid_argument);
}

// The second array would show what the first one shows.
TEST_F(ViewsTest, TwoRandomPicturesOfOneFieldAreRefused) {
  const auto with = [&](const ImageOptions& first, const std::string& field,
                        const ImageOptions& second) {
    LoaderOptions options = options_of({}, {});
    options.image = first;
    options.fields = {{"second", decode_image(schema(), field, second)}};
    return options;
  };
  const ImageOptions random{.transform = RandomResizedCrop{.size = 8}};
  const ImageOptions fixed{.transform = Resize{.size = {8, 8}}};
  const ImageOptions jittered{.transform = Resize{.size = {8, 8}},
                              .augmentations = {ColorJitter{.brightness = 0.4}}};
  const ImageOptions erased{.transform = Resize{.size = {8, 8}}, .erasing = RandomErasing{}};
  EXPECT_ERROR(Loader(dataset(), with(random, "image", random)), invalid_argument);
  EXPECT_ERROR(Loader(dataset(), with(erased, "image", jittered)), invalid_argument);
  Loader(dataset(), with(random, "depth", random));
  Loader(dataset(), with(random, "image", fixed));
  Loader(dataset(), with(fixed, "image", random));
}

TEST(ViewKey, IsTheSamplesForTheDefaultView) {
  const SampleKey key{.seed = 5, .epoch = 2, .record_index = 9};
  EXPECT_EQ(view_key(key, "").seed, 5U);
  // Part of what users' seeds give: these must not change.
  EXPECT_EQ(view_key(key, "global").seed, 0x4F6F615C9C2AA636U);
  EXPECT_EQ(view_key(key, "global", 1).seed, 0x276CA8291DE6FC3EU);
  EXPECT_EQ(view_key(key, "", 1).seed, image_key(key, 1).seed);
  EXPECT_EQ(view_key(key, "global", 1).epoch, 2);
  EXPECT_EQ(view_key(key, "global", 1).record_index, 9);
}

TEST(BoxFormat, CoordinatesAreThoseOfTheFormat) {
  EXPECT_EQ(from_name<BoxFormat>("cxcywh"), BoxFormat::cxcywh);
  EXPECT_EQ(to_string(BoxFormat::xywh), "xywh");
  EXPECT_ERROR(from_name<BoxFormat>("yxyx"), invalid_argument);
  const BoxEdges edges = {10, 20, 30, 60};
  const ImageSize size{80, 40};
  EXPECT_THAT(coordinates_of(edges, {BoxFormat::xyxy}, size), ElementsAre(10, 20, 30, 60));
  EXPECT_THAT(coordinates_of(edges, {BoxFormat::xywh}, size), ElementsAre(10, 20, 20, 40));
  EXPECT_THAT(coordinates_of(edges, {BoxFormat::cxcywh}, size), ElementsAre(20, 40, 20, 40));
  EXPECT_THAT(coordinates_of(edges, {BoxFormat::cxcywh, true}, size),
              ElementsAre(0.5F, 0.5F, 0.5F, 0.5F));
}

}  // namespace
}  // namespace ffkit
