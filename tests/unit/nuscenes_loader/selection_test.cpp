#include <deque>
#include <limits>

#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/windows.h>

#include "record_reader.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

struct MadeUpBox {
  int64_t class_number;
  bool is_valid = true;
  float x = 0;
  float y = 0;
  float height = 1.5F;
};

// Keyframes of which boxes alone are stored.
Dataset write_boxes(const std::filesystem::path& folder,
                    const std::vector<std::vector<MadeUpBox>>& keyframes) {
  KeyframeFields fields;
  DatasetWriter writer(folder, {.split = "train", .schema = keyframe_schema(fields)});
  const Schema& schema = writer.schema();
  for (const auto& boxes : keyframes) {
    std::vector<int64_t> classes;
    std::vector<uint8_t> valid;
    std::vector<float> numbers;
    for (const MadeUpBox& box : boxes) {
      classes.push_back(box.class_number);
      valid.push_back(box.is_valid ? 1 : 0);
      numbers.insert(numbers.end(), {box.x, box.y, 0, 4, 2, box.height, 0.1F, 0, 0});
    }
    const auto n = std::ssize(boxes);
    RecordBuilder builder(schema);
    builder.set_string(schema.require(keyframe::kToken), "token");
    builder.set_string(schema.require(keyframe::kScene), "scene-0001");
    builder.set_scalar<int64_t>(schema.require(keyframe::kTimestamp), 1);
    builder.set_tensor(schema.require(keyframe::kBoxClass),
                       {DType::i64, {n}, std::as_bytes(std::span(classes))});
    builder.set_tensor(schema.require(keyframe::kBoxValid),
                       {DType::u8, {n}, std::as_bytes(std::span(valid))});
    builder.set_tensor(schema.require(keyframe::kBoxLidar),
                       {DType::f32, {n, 9}, std::as_bytes(std::span(numbers))});
    writer.append(testing::encoded(builder));
  }
  writer.finish();
  return Dataset::open(folder);
}

TEST(Selection, BoxesCountAsTheLoaderKeepsThem) {
  const testing::TempDir dir;
  const Dataset keyframes = write_boxes(
      dir / "set", {{{.class_number = 0}, {.class_number = 8, .x = 60}},
                    {},
                    {{.class_number = -1}},
                    {{.class_number = 3, .is_valid = false}},
                    {{.class_number = 9, .y = -51.2F}, {.class_number = 9, .x = 70}},
                    {{.class_number = 2, .x = 51.1F}, {.class_number = 2}, {.class_number = 9}}});
  const auto counts = [&](const BoxOptions& options) {
    return read_kept_boxes(keyframes, options).num_boxes;
  };
  EXPECT_EQ(counts({}), (std::vector<int64_t>{2, 0, 0, 0, 2, 3}));
  EXPECT_EQ(counts({.range = BevRange{}}), (std::vector<int64_t>{1, 0, 0, 0, 0, 3}));
  EXPECT_EQ(counts({.only_valid = false}), (std::vector<int64_t>{2, 0, 0, 1, 2, 3}));
  EXPECT_EQ(counts({.only_classes = false}), (std::vector<int64_t>{2, 0, 1, 0, 2, 3}));
  const KeptBoxes kept = read_kept_boxes(keyframes, {.range = BevRange{}});
  EXPECT_EQ(kept.classes[0].to_ulong(), 1U << 0);
  EXPECT_EQ(kept.classes[4].to_ulong(), 0U);
  EXPECT_EQ(kept.classes[5].to_ulong(), 1U << 2 | 1U << 9);
  EXPECT_EQ(read_kept_boxes(keyframes, {.only_classes = false}).classes[2].to_ulong(), 0U);
  EXPECT_EQ(keyframes_with_boxes(kept), (std::vector<int64_t>{0, 5}));
  // Numbers are those of the data set given.
  const Dataset subset = keyframes.subset({5, 1, 4});
  EXPECT_EQ(keyframes_with_boxes(read_kept_boxes(subset, {})), (std::vector<int64_t>{0, 2}));
  EXPECT_ERROR(counts({.range = BevRange{.y_min = 60}}), invalid_argument);
}

// Boxes without size, place or direction count nowhere, and the keyframe stays.
TEST(Selection, BoxesThatAreNoneAreLeftOut) {
  const testing::TempDir dir;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Dataset keyframes = write_boxes(
      dir / "set", {{{.class_number = 0, .height = 0}, {.class_number = 8}},
                    {{.class_number = 1, .height = -1}},
                    {{.class_number = 2, .height = kNan}, {.class_number = 2, .x = kNan}}});
  EXPECT_EQ(read_kept_boxes(keyframes, {}).num_boxes, (std::vector<int64_t>{1, 0, 0}));
  LoaderOptions options{.batch_size = 3, .image_field = "", .label_field = ""};
  add_box_fields(keyframes.schema(), {}, {}, options.fields);
  options.sampler.order = Order::sequential;
  options.io.read_ahead_epochs = false;
  Loader loader(keyframes, std::move(options));
  loader.set_epoch(0);
  const std::optional<Batch> batch = loader.next();
  EXPECT_THAT(batch->row_offsets("boxes"), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(batch->row_offsets("box_classes"), ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(loader.statistics().num_items_left_out, 4);
}

// Keyframes of one class each, so many of each class.
KeptBoxes with_counts(const std::vector<int64_t>& counts) {
  KeptBoxes kept;
  for (size_t c = 0; c < counts.size(); ++c) {
    for (int64_t i = 0; i < counts[c]; ++i) {
      kept.num_boxes.push_back(1);
      kept.classes.emplace_back().set(c);
    }
  }
  return kept;
}

// The numbers of draws are those of mmdetection3d's CBGSDataset, run in Python: 25 of the first
// class, because 46 * (0.1 / (46 / 260)) is below 26.
TEST(Selection, EveryClassIsDrawnAlikeOften) {
  const std::vector<int64_t> counts = {46, 4, 1, 40, 0, 18, 48, 50, 22, 31};
  const KeptBoxes kept = with_counts(counts);
  const ClassBalance balance = class_balanced(kept, 3, 0);
  EXPECT_TRUE(std::equal(counts.begin(), counts.end(), balance.num_before.begin()));
  EXPECT_EQ(balance.num_after, (std::array<int64_t, 10>{25, 26, 26, 26, 0, 26, 26, 26, 26, 26}));
  ASSERT_EQ(balance.keyframes.size(), 25U + 8 * 26);
  std::map<size_t, std::set<int64_t>> different;
  for (const int64_t keyframe : balance.keyframes) {
    for (size_t c = 0; c < 10; ++c) {
      if (kept.classes.at(static_cast<size_t>(keyframe)).test(c)) different[c].insert(keyframe);
    }
  }
  EXPECT_EQ(different[1].size(), 4U) << "26 draws of 4: all of them";
  EXPECT_GT(different[7].size(), 12U);
  EXPECT_LT(different[7].size(), 26U) << "with replacement";
}

TEST(Selection, AKeyframeCountsForEachOfItsClasses) {
  KeptBoxes kept = with_counts({30, 0, 0, 0, 0, 0, 0, 0, 0, 10});
  for (size_t i = 30; i < 40; ++i) kept.classes[i].set(0);
  const ClassBalance balance = class_balanced(kept, 3, 0);
  EXPECT_EQ(balance.num_before[0], 40);
  EXPECT_EQ(balance.num_before[9], 10);
  EXPECT_EQ(balance.keyframes.size(), 10U);  // a tenth of 50 for each of two classes
  EXPECT_EQ(balance.num_after[0], 10);
  EXPECT_GE(balance.num_after[9], 5);
  EXPECT_TRUE(class_balanced({}, 3, 0).keyframes.empty());
}

TEST(Selection, DrawsDependOnSeedAndEpoch) {
  const KeptBoxes kept = with_counts({500, 300, 100, 0, 0, 0, 0, 0, 0, 0});
  const auto drawn = [&](uint64_t seed, int64_t epoch) {
    return class_balanced(kept, seed, epoch).keyframes;
  };
  EXPECT_EQ(drawn(1, 2), drawn(1, 2));
  EXPECT_NE(drawn(1, 2), drawn(1, 3));
  EXPECT_NE(drawn(1, 2), drawn(2, 2));
  EXPECT_EQ(drawn(1, 2).size(), drawn(1, 3).size());
  // Every keyframe of a class is as likely: of 100, in 300 epochs with 90 draws each.
  std::vector<int> times(900, 0);
  for (int64_t epoch = 0; epoch < 300; ++epoch) {
    for (const int64_t keyframe : drawn(1, epoch)) ++times[static_cast<size_t>(keyframe)];
  }
  for (size_t i = 800; i < 900; ++i) EXPECT_NEAR(times[i], 270, 85) << i;
}

}  // namespace
}  // namespace ffkit::nuscenes
