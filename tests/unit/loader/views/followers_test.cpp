// What follows a view: cut by CutMix, beyond the picture, counted in pixels or edges.
#include "image/views/picture_views.h"
#include "view_records.h"

namespace ffkit {
namespace {

using ::testing::DoubleNear;
using testing::make_picture;

// What follows the picture is cut with it; what has no half is refused by its name.
TEST_F(ViewsTest, CutMixCutsMasksAndFurtherPictures) {
  LoaderOptions options = options_of(
      {}, {{"mask", MaskField{.field = "mask", .mask = {.dtype = DType::i64}}},
           {"depth",
            PictureField{.field = "depth", .output = {.dtype = DType::i32, .normalize = false}}}});
  options.image.output = {.dtype = DType::u8, .normalize = false};
  options.sampler.tail = Tail::exact;
  Loader plain(dataset(), options);
  options.mixing.cutmix_alpha = 1;
  Loader mixed(dataset(), options);
  constexpr size_t kArea = size_t{24} * 24;
  size_t num_taken = 0;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    plain.set_epoch(epoch);
    mixed.set_epoch(epoch);
    while (const std::optional<Batch> own = plain.next()) {
      const std::optional<Batch> batch = mixed.next();
      const auto images = values_of<uint8_t>(own->field("image"));
      const auto depths = values_of<int32_t>(own->field("depth"));
      const auto new_images = values_of<uint8_t>(batch->field("image"));
      const auto new_depths = values_of<int32_t>(batch->field("depth"));
      const auto masks = values_of<int64_t>(own->field("mask"));
      const auto new_masks = values_of<int64_t>(batch->field("mask"));
      const auto n = static_cast<size_t>(own->size());
      for (size_t i = 0; i < n; ++i) {
        const size_t before = (i + n - 1) % n;
        size_t num_cut = 0;
        for (size_t at = 0; at < kArea; ++at) {
          const bool is_cut = new_masks[i * kArea + at] != masks[i * kArea];
          const size_t from = is_cut ? before : i;
          num_cut += is_cut ? 1 : 0;
          ASSERT_EQ(new_masks[i * kArea + at], masks[from * kArea + at]);
          for (size_t c = 0; c < 3; ++c) {
            ASSERT_EQ(new_images[(3 * i + c) * kArea + at], images[(3 * from + c) * kArea + at]);
            ASSERT_EQ(new_depths[(3 * i + c) * kArea + at], depths[(3 * from + c) * kArea + at]);
          }
        }
        EXPECT_NEAR(static_cast<double>(num_cut) / kArea, 1 - batch->mix_lambda(), 1e-9);
        num_taken += num_cut;
      }
    }
  }
  EXPECT_GT(num_taken, kArea / 10);
}

TEST_F(ViewsTest, WhatMixingWouldLeaveIsRefused) {
  const auto refused = [&](MixOptions mixing, const ViewField& field) {
    LoaderOptions options = options_of({}, {{"boxes", BoxesField{}}, field});
    if (field.name == "boxes") options.view_fields.pop_back();
    if (!std::holds_alternative<BoxRowsField>(field.what) &&
        !std::holds_alternative<PointsField>(field.what)) {
      options.view_fields = {field};
    }
    options.mixing = mixing;
    EXPECT_ERROR(Loader(dataset(), options), invalid_argument);
  };
  const MixOptions cutmix{.cutmix_alpha = 1};
  refused({.mixup_alpha = 1}, {"mask", MaskField{.field = "mask"}});
  refused({.mixup_alpha = 1, .cutmix_alpha = 1}, {"depth", PictureField{.field = "depth"}});
  refused({.mixup_alpha = 1}, {"valid", PixelMaskField{}});
  refused({.mixup_alpha = 1}, {"boxes", BoxesField{}});
  refused(cutmix, {"boxes", BoxesField{}});
  refused(cutmix, {"labels", BoxRowsField{.field = "labels"}});
  refused(cutmix, {"points", PointsField{.field = "points", .num_points = 2}});
  LoaderOptions options = options_of({}, {});
  options.mixing = cutmix;
  options.fields = {
      {"other", decode_image(schema(), "depth", {.transform = RandomCrop{.size = 9}})}};
  EXPECT_ERROR(Loader(dataset(), options), invalid_argument);
}

// Boxes beyond the picture are cut by what crops, pads or warps, and by the view, never by a flip.
TEST_F(ViewsTest, BoxesBeyondThePictureSurviveFlips) {
  constexpr BoxEdges kBeyond = {-10, -6, 20, 30};  // of a picture of 60 x 50
  const auto moved = [&](std::vector<GeometryStep> steps) {
    PictureViews views({{.transform = Compose{std::move(steps)}}});
    const size_t view = 0;
    const SampleKey key{1, 2, 3};
    PipelineTimes times;
    const auto picture = encode_jpeg(make_picture(60, 50).view());
    views.begin(picture, {&view, 1}, {&key, 1}, times);
    return views.move_box(0, kBeyond).edges;
  };
  const RandomHorizontalFlip flip{.probability = 1};
  const RandomVerticalFlip down{.probability = 1};
  const Pad pad{.padding = 20};
  const FixedSizeCrop all{.size = {90, 100}};
  EXPECT_THAT(moved({pad, all}), ElementsAre(10, 14, 40, 50));
  EXPECT_THAT(moved({flip, pad, all}), ElementsAre(60, 14, 90, 50));
  EXPECT_THAT(moved({down, pad, all}), ElementsAre(10, 40, 40, 76));
  EXPECT_THAT(moved({down, down, pad, all}), ElementsAre(10, 14, 40, 50));
  EXPECT_THAT(moved({Resize{.size = {100, 120}}, down, pad, FixedSizeCrop{.size = {140, 160}}}),
              ElementsAre(0, 60, 60, 132));
  // A turn by 180 degrees cuts at the canvas that it makes, not before.
  EXPECT_THAT(moved({RandomRotation{.degrees = {180, 180}}, pad, all}),
              ElementsAre(DoubleNear(60, 1e-4), DoubleNear(40, 1e-4), DoubleNear(80, 1e-4),
                          DoubleNear(70, 1e-4)));
  EXPECT_THAT(moved({CenterCrop{.size = {50, 60}}, pad, all}), ElementsAre(10, 14, 40, 50));
}

// A point names a pixel, as in COCO: a flip makes W - 1 - x, a resize moves the pixel's centre.
TEST_F(ViewsTest, PointsCountPixelsOrEdges) {
  const auto points_of = [&](PointCount counts, std::vector<GeometryStep> steps) {
    LoaderOptions options = options_of(
        {}, {{"boxes", BoxesField{.min_size = 0}},
             {"points", PointsField{.field = "points", .num_points = 2, .counts = counts}}});
    options.image.transform = Compose{std::move(steps)};
    options.batch_size = 1;
    Loader loader(dataset(), options);
    loader.set_epoch(0);
    return values_of<float>(loader.next()->field("points"));
  };
  // The first picture has 60 x 50 pixels; its second box has points at (5, 4) and (15, 12).
  const RandomHorizontalFlip flip{.probability = 1};
  const RandomVerticalFlip down{.probability = 1};
  const auto second = [](const std::vector<float>& all) {
    return std::vector<float>(all.begin() + 6, all.begin() + 12);
  };
  const Resize same{.size = {50, 60}};
  const Resize twice{.size = {100, 120}};
  EXPECT_THAT(second(points_of(PointCount::pixels, {same})), ElementsAre(5, 4, 1, 15, 12, 2));
  EXPECT_THAT(second(points_of(PointCount::pixels, {flip, same})),
              ElementsAre(54, 4, 1, 44, 12, 2));
  EXPECT_THAT(second(points_of(PointCount::edges, {flip, same})), ElementsAre(55, 4, 1, 45, 12, 2));
  EXPECT_THAT(second(points_of(PointCount::pixels, {down, same})),
              ElementsAre(5, 45, 1, 15, 37, 2));
  EXPECT_THAT(second(points_of(PointCount::pixels, {twice})),
              ElementsAre(10.5, 8.5, 1, 30.5, 24.5, 2));
  EXPECT_THAT(second(points_of(PointCount::edges, {twice})), ElementsAre(10, 8, 1, 30, 24, 2));
  EXPECT_THAT(second(points_of(PointCount::pixels,
                               {Pad{.padding = {3, 2, 0, 0}}, Resize{.size = {52, 63}}})),
              ElementsAre(8, 6, 1, 18, 14, 2));
  EXPECT_EQ(from_name<PointCount>("edges"), PointCount::edges);
}

}  // namespace
}  // namespace ffkit
