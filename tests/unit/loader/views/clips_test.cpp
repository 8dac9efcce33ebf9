// Clips: which frames of a video they have, and what they refuse.
#include "loader_prelude.h"
#include "views/view_decoders.h"

namespace ffkit {
namespace {

using testing::make_picture;

Schema video_schema() {
  return {
      {{.name = "frames", .type = FieldType::list, .item = FieldType::image},
       {.name = "masks", .type = FieldType::list, .dtype = DType::i32, .item = FieldType::tensor},
       {.name = "boxes", .type = FieldType::tensor, .dtype = DType::f32},
       {.name = "image", .type = FieldType::image}}};
}

std::vector<int64_t> chosen(const FramesField& options, int64_t num_frames, int64_t record = 0) {
  return Clip(video_schema(), "clip", options)
      .choose(num_frames, {.seed = 1, .epoch = 0, .record_index = record});
}

// Those that many records give.
std::set<std::vector<int64_t>> all_chosen(const FramesField& options, int64_t num_frames) {
  std::set<std::vector<int64_t>> all;
  for (int64_t record = 0; record < 400; ++record) {
    all.insert(chosen(options, num_frames, record));
  }
  return all;
}

TEST(Clip, IsInTheMiddleWithoutJitter) {
  EXPECT_THAT(chosen({.count = 3, .stride = 2, .jitter = false}, 5), ElementsAre(0, 2, 4));
  EXPECT_THAT(chosen({.count = 3, .stride = 2, .jitter = false}, 6), ElementsAre(0, 2, 4));
  EXPECT_THAT(chosen({.count = 3, .stride = 2, .jitter = false}, 11), ElementsAre(3, 5, 7));
  EXPECT_THAT(chosen({.count = 1, .stride = 9, .jitter = false}, 7), ElementsAre(3));
}

TEST(Clip, BeginsAnywhereWithJitter) {
  using Numbers = std::vector<int64_t>;
  EXPECT_THAT(all_chosen({.count = 3, .stride = 2}, 8),
              ElementsAre(Numbers{0, 2, 4}, Numbers{1, 3, 5}, Numbers{2, 4, 6}, Numbers{3, 5, 7}));
  EXPECT_THAT(all_chosen({.count = 2, .stride = 1}, 2), ElementsAre(Numbers{0, 1}));
}

TEST(Clip, IsSpreadOverTheVideoWithAStrideOfZero) {
  EXPECT_THAT(chosen({.count = 4, .stride = 0, .jitter = false}, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(chosen({.count = 3, .stride = 0, .jitter = false}, 30), ElementsAre(4, 14, 24));
  EXPECT_THAT(chosen({.count = 3, .stride = 0, .jitter = false}, 10), ElementsAre(1, 4, 7));
  std::set<int64_t> seen;
  for (const std::vector<int64_t>& numbers : all_chosen({.count = 2, .stride = 0}, 6)) {
    EXPECT_LT(numbers[0], 3);
    EXPECT_GE(numbers[1], 3);
    seen.insert(numbers.begin(), numbers.end());
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Clip, ShortVideosAreBadOrUsedSeveralTimes) {
  FramesField options{.count = 5, .stride = 2, .jitter = false};
  EXPECT_ERROR(chosen(options, 8), unsupported);
  options.if_short = ShortVideo::loop;
  EXPECT_THAT(chosen(options, 3), ElementsAre(0, 2, 1, 0, 2));
  options.if_short = ShortVideo::repeat;
  EXPECT_THAT(chosen(options, 3), ElementsAre(0, 2, 2, 2, 2));
  EXPECT_THAT(chosen(options, 9), ElementsAre(0, 2, 4, 6, 8));
  options.jitter = true;
  EXPECT_EQ(all_chosen(options, 8).size(), 1U);
  options.if_short = ShortVideo::loop;
  EXPECT_EQ(all_chosen(options, 8).size(), 8U);
  options.stride = 0;
  EXPECT_THAT(chosen(options, 3), ElementsAre(0, 1, 2, 0, 1));
  options.if_short = ShortVideo::repeat;
  EXPECT_THAT(chosen(options, 3), ElementsAre(0, 0, 1, 1, 2));
  options.if_short = ShortVideo::bad;
  EXPECT_ERROR(chosen(options, 4), unsupported);
  EXPECT_ERROR(chosen(options, 0), corrupt);
}

TEST(Clip, RefusesOptionsOutOfRange) {
  const Schema schema = video_schema();
  EXPECT_ERROR(Clip(schema, "clip", {.count = 0}), invalid_argument);
  EXPECT_ERROR(Clip(schema, "clip", {.stride = -1}), invalid_argument);
  EXPECT_ERROR(Clip(schema, "clip", {.field = "image"}), invalid_argument);
  EXPECT_ERROR(Clip(schema, "clip", {.field = "masks"}), invalid_argument);
  EXPECT_ERROR(Clip(schema, "clip", {.field = "video"}), not_found, .subject = field);
  EXPECT_ERROR(
      Clip(schema, "clip",
           {.image = {.transform = Compose{.steps = {RandomIoUCrop{}, Resize{.size = {9, 9}}}}}}),
      invalid_argument);
  EXPECT_EQ(from_name<ShortVideo>("loop"), ShortVideo::loop);
  EXPECT_EQ(to_string(ShortVideo::repeat), "repeat");
  EXPECT_ERROR(from_name<ShortVideo>("cut"), invalid_argument);
}

// Record i is a video of 4 + i frames, whose masks have the number of the frame everywhere.
class ClipsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kNumRecords = 6;

  void SetUp() override {
    testing::write_split(dir_ / "train", video_schema(), kNumRecords,
                         [this](int64_t i) { return record(i); });
  }

  virtual std::vector<std::byte> record(int64_t i) {
    const Schema schema = video_schema();
    std::vector<std::vector<std::byte>> frames;
    std::vector<std::vector<int32_t>> masks;
    for (int64_t k = 0; k < 4 + i; ++k) {
      const int width = has_odd_frame_ && k == 0 ? 41 : 40;
      frames.push_back(
          encode_jpeg(make_picture(width, 30, static_cast<uint32_t>(100 * i + k)).view()));
      masks.emplace_back(static_cast<size_t>(40 * 30), static_cast<int32_t>(k));
    }
    if (lacks_mask_) masks.pop_back();
    const std::vector<std::span<const std::byte>> pictures(frames.begin(), frames.end());
    std::vector<TensorView> tensors;
    tensors.reserve(masks.size());
    for (const auto& mask : masks) {
      tensors.push_back({DType::i32, {30, 40}, std::as_bytes(std::span(mask))});
    }
    RecordBuilder builder(schema);
    builder.set_list(0, pictures);
    builder.set_list(1, tensors);
    builder.set_bytes(3, frames.front());
    return testing::encoded(builder);
  }

  static LoaderOptions options_of(FramesField frames, std::vector<ViewField> more = {}) {
    LoaderOptions options;
    options.batch_size = 3;
    options.num_threads = 2;
    options.sampler = {.order = Order::sequential, .seed = 7};
    options.image_field = "";
    options.label_field = "";
    options.image = {.transform = RandomResizedCrop{.size = 16}};
    frames.image = {.transform = RandomResizedCrop{.size = 16},
                    .augmentations = {ColorJitter{.brightness = 0.4F}}};
    options.view_fields = {{"clip", std::move(frames)}};
    options.view_fields.insert(options.view_fields.end(), more.begin(), more.end());
    return options;
  }

  Batch first_batch(const LoaderOptions& options) const {
    Loader loader(dataset(), options);
    loader.set_epoch(0);
    return std::move(*loader.next());
  }

  Dataset dataset() const { return Dataset::open(dir_ / "train"); }

  bool has_odd_frame_ = false;
  bool lacks_mask_ = false;
  testing::TempDir dir_;
};

std::vector<int64_t> shape_of_array(const BatchArray& array) {
  return {array.shape.begin(), array.shape.end()};
}

TEST_F(ClipsTest, ArraysHaveAFrameBehindEachOther) {
  const Batch batch = first_batch(options_of(
      {.count = 3}, {{"mask", MaskField{.field = "masks"}},
                     {"again", PictureField{.field = "frames",
                                            .augmentations = {ColorJitter{.brightness = 0.4F}}}},
                     {"numbers", FrameNumbersField{}}}));
  EXPECT_EQ(shape_of_array(batch.field("clip")), (std::vector<int64_t>{3, 3, 3, 16, 16}));
  EXPECT_EQ(shape_of_array(batch.field("mask")), (std::vector<int64_t>{3, 3, 16, 16}));
  EXPECT_EQ(shape_of_array(batch.field("numbers")), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(shape_of_array(batch.geometry("clip")), (std::vector<int64_t>{3, 3, 3}));
  EXPECT_EQ(shape_of_array(batch.source_sizes()), (std::vector<int64_t>{3, 2}));
  EXPECT_THAT(batch.views(), ElementsAre("clip"));
  EXPECT_EQ(batch.images(), nullptr);
  // The same frames with the same crop and colours.
  const auto* clip = static_cast<const float*>(batch.field("clip").data);
  const auto* again = static_cast<const float*>(batch.field("again").data);
  EXPECT_TRUE(std::equal(clip, clip + batch.field("clip").num_bytes() / sizeof(float), again));
  const auto* mask = static_cast<const uint8_t*>(batch.field("mask").data);
  const auto* numbers = static_cast<const int64_t*>(batch.field("numbers").data);
  for (int i = 0; i < 9; ++i) {
    EXPECT_THAT(std::vector<uint8_t>(mask + 256 * i, mask + 256 * (i + 1)), Each(numbers[i]));
  }
}

TEST_F(ClipsTest, StandBesideThePicture) {
  LoaderOptions options = options_of({.count = 2}, {{"mask", MaskField{"masks", "clip"}}});
  options.image_field = "image";
  const Batch batch = first_batch(options);
  EXPECT_THAT(batch.views(), ElementsAre("image", "clip"));
  EXPECT_EQ(batch.image_field(), 0U);
  EXPECT_EQ(shape_of_array(batch.geometry("image")), (std::vector<int64_t>{3, 3, 3}));
  EXPECT_EQ(shape_of_array(batch.geometry("clip")), (std::vector<int64_t>{3, 3, 3}));
  // Views have random numbers of their own.
  const auto* image = static_cast<const double*>(batch.geometry("image").data);
  const auto* clip = static_cast<const double*>(batch.geometry("clip").data);
  EXPECT_FALSE(std::equal(image, image + 27, clip));
}

TEST_F(ClipsTest, RefuseWhatCannotFollowThem) {
  const auto open = [&](std::vector<ViewField> more, const std::string& image = "") {
    LoaderOptions options = options_of({.count = 2}, std::move(more));
    options.image_field = image;
    Loader loader(dataset(), options);
  };
  EXPECT_ERROR(open({{"boxes", BoxesField{}}}), invalid_argument);
  EXPECT_ERROR(open({{"valid", PixelMaskField{}}}), invalid_argument);
  EXPECT_ERROR(open({{"mask", MaskField{"frames", "video"}}}), invalid_argument);
  EXPECT_ERROR(open({{"mask", MaskField{"image"}}}), invalid_argument);
  EXPECT_ERROR(open({{"depth", PictureField{.field = "masks"}}}), invalid_argument);
  EXPECT_ERROR(open({{"mask", MaskField{"masks"}}}, "image"), invalid_argument);
  EXPECT_ERROR(open({{"numbers", FrameNumbersField{"image"}}}, "image"), invalid_argument);
}

TEST_F(ClipsTest, NeedAClipOrAPictureToFollow) {
  LoaderOptions options = options_of({});
  options.view_fields = {{"mask", MaskField{"masks"}}};
  EXPECT_ERROR(Loader(dataset(), options), invalid_argument);
}

class OddClipsTest : public ClipsTest {
 protected:
  OddClipsTest() { has_odd_frame_ = true; }
};

TEST_F(OddClipsTest, FramesOfAnotherSizeAreABadSample) {
  EXPECT_ERROR(first_batch(options_of({.count = 4})), corrupt, .record = 0);
  // Frames that no clip has do not count.
  first_batch(options_of({.count = 2, .jitter = false}));
}

class ClipsWithoutMaskTest : public ClipsTest {
 protected:
  ClipsWithoutMaskTest() { lacks_mask_ = true; }
};

TEST_F(ClipsWithoutMaskTest, AMaskIsMissed) {
  EXPECT_ERROR(first_batch(options_of({.count = 2}, {{"mask", MaskField{"masks"}}})), corrupt,
               .record = 0);
}

}  // namespace
}  // namespace ffkit
