#include <ffkit/format/record.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>
#include <ffkit/nuscenes/windows.h>

#include "collect_epoch.h"
#include "little_memory.h"
#include "nuscenes/make_nuscenes.h"
#include "record_reader.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

class WindowsTest : public ::testing::Test {
 protected:
  WindowsTest() {
    testing::make_nuscenes(dir_ / "set", {.num_scenes = 3, .keyframes_per_scene = 4});
    split_.emplace(open_split(dir_ / "set", "mini_val"));
  }
  LoaderOptions options() {
    LoaderOptions out{.batch_size = 6, .image_field = "", .label_field = ""};
    out.num_threads = 2;
    out.sampler = {.tail = Tail::exact, .seed = 4};
    KeyframeOptions fields;
    fields.cameras.channels = {"CAM_FRONT"};
    fields.cameras.image.transform = ResizeCrop{.size = {32, 64},
                                                .factor_min = 0.4,
                                                .factor_max = 0.8,
                                                .centered = false,
                                                .flip_probability = 0.5};
    fields.lidar.max_points = 4000;
    fields.bev = {.rotation_min = -1, .rotation_max = 1, .flip_x_probability = 0.5};
    out.fields = keyframe_fields(*split_, fields);
    return out;
  }
  testing::TempDir dir_;
  std::optional<Split> split_;
};

TEST_F(WindowsTest, FramesBeforeAreThoseOfTheScene) {
  const Windows windows = make_windows(split_->keyframes, 2);
  EXPECT_EQ(windows.length, 3);
  EXPECT_EQ(*scene_groups(split_->keyframes), (std::vector<int64_t>{0, 4, 8}));
  ASSERT_EQ(windows.frames.num_records(), 36);
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < 18; ++i) frames.push_back(windows.frames.index_in_split(i));
  EXPECT_EQ(frames, (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 1, 2, 1, 2, 3, 4, 4, 4, 4, 4, 5}));
  const std::vector<int64_t> records = {0, 1, 2, 3, 4, 5, 6, 12};
  EXPECT_EQ(windows.mask(records), (std::vector<uint8_t>{1, 1, 0, 1, 0, 0, 0, 1}));
  EXPECT_ERROR(windows.mask(std::vector<int64_t>{36}), invalid_argument);
  EXPECT_ERROR(windows.mask(std::vector<int64_t>{-1}), invalid_argument);
  EXPECT_ERROR(make_windows(split_->keyframes, -1), invalid_argument);
  EXPECT_EQ(make_windows(split_->keyframes, 0).frames.num_records(), 12);
}

TEST_F(WindowsTest, ChosenOnesAreThoseAskedFor) {
  const Windows all = make_windows(split_->keyframes, 2);
  EXPECT_EQ(all.num_windows(), 12);
  const std::vector<int64_t> chosen = {5, 2, 5};
  const Windows windows = all.select(chosen);
  EXPECT_EQ(windows.num_windows(), 3);
  EXPECT_EQ(windows.length, 3);
  EXPECT_EQ(*windows.groups, (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(windows.is_repeated, (std::vector<uint8_t>{1, 0, 0, 0, 0, 0, 1, 0, 0}));
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < 9; ++i) frames.push_back(windows.frames.index_in_split(i));
  EXPECT_EQ(frames, (std::vector<int64_t>{4, 4, 5, 0, 1, 2, 4, 4, 5}));
  // A choice of a choice.
  const Windows again = windows.select(std::vector<int64_t>{1});
  EXPECT_EQ(again.frames.index_in_split(2), 2);
  EXPECT_EQ(again.is_repeated, (std::vector<uint8_t>{0, 0, 0}));
  EXPECT_ERROR(all.select(std::vector<int64_t>{12}), invalid_argument);
  EXPECT_ERROR(all.select(std::vector<int64_t>{-1}), invalid_argument);
}

// As a loader gives them, repeated windows draw for themselves.
TEST_F(WindowsTest, ChosenOnesAreLoaded) {
  const Windows windows =
      make_windows(split_->keyframes, 2).select(std::vector<int64_t>(12, int64_t{6}));
  LoaderOptions with = options();
  windows.apply(with.sampler);
  Loader loader(windows.frames, with);
  std::vector<float> scales;
  while (const auto batch = loader.next()) {
    const auto* intrinsics = static_cast<const float*>(batch->field("intrinsics").data);
    for (int64_t i = 0; i < batch->size(); i += 3) scales.push_back(intrinsics[9 * i]);
  }
  ASSERT_EQ(scales.size(), 12U);
  std::sort(scales.begin(), scales.end());
  EXPECT_GT(std::unique(scales.begin(), scales.end()) - scales.begin(), 6);
}

TEST_F(WindowsTest, FramesHaveAPreviousOneWhereTheirWindowHasOne) {
  const Windows windows = make_windows(split_->keyframes, 2);
  std::vector<int64_t> records(18);  // of keyframes 0 .. 5, whose scenes begin at 0 and 4
  std::iota(records.begin(), records.end(), 0);
  EXPECT_EQ(windows.has_previous(records),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1}));
  // Windows in another order; a replacement, record 8 in the place of 7, has none before it and is
  // none.
  EXPECT_EQ(windows.has_previous(std::vector<int64_t>{9, 10, 11, 6, 8, 8}),
            (std::vector<uint8_t>{0, 1, 1, 0, 0, 0}));
  EXPECT_TRUE(windows.has_previous({}).empty());
  EXPECT_ERROR(windows.has_previous(std::vector<int64_t>{36}), invalid_argument);
}

TEST(ToDifferences, AreTakenWithinWindowsAndWithoutWrapping) {
  std::vector<double> motion(4 * 18);
  for (size_t i = 0; i < motion.size(); ++i) motion[i] = double(i * i);
  motion[17] = 359;
  motion[18 + 17] = 1;
  const std::vector<double> before = motion;
  to_differences(motion, std::vector<uint8_t>{0, 1, 1, 0});
  for (size_t sample = 0; sample < 4; ++sample) {
    for (size_t i = 0; i < 18; ++i) {
      const size_t at = 18 * sample + i;
      double wanted = before[at];
      if (i < 3 || i == 17) wanted = sample == 1 || sample == 2 ? before[at] - before[at - 18] : 0;
      EXPECT_EQ(motion[at], wanted) << sample << ", " << i;
    }
  }
  EXPECT_EQ(motion[18 + 17], -358);
  EXPECT_ERROR(to_differences(motion, std::vector<uint8_t>{0, 1}), invalid_argument);
  EXPECT_ERROR(to_differences(motion, std::vector<uint8_t>{1, 0, 0, 0}), invalid_argument);
}

// Of the frames before, each is left out as often as the others; the order of time stays.
TEST_F(WindowsTest, DrawnOnesLeaveOneFrameOut) {
  const int64_t num_keyframes = split_->keyframes.num_records();
  // Of the last keyframe of a scene, which has three frames before it.
  std::map<std::vector<int64_t>, int> drawn;
  for (int64_t epoch = 0; epoch < 300; ++epoch) {
    const Windows windows = draw_windows(split_->keyframes, 2, 7, epoch);
    ASSERT_EQ(windows.frames.num_records(), 3 * num_keyframes);
    std::vector<int64_t> frames;
    for (int64_t i = 9; i < 12; ++i) frames.push_back(windows.frames.index_in_split(i));
    ++drawn[frames];
    // The first keyframe of a scene has none but itself.
    const std::vector<int64_t> first = {0, 1, 2};
    EXPECT_EQ(windows.mask(first), (std::vector<uint8_t>{1, 1, 0}));
    EXPECT_EQ(windows.frames.index_in_split(0), 0);
  }
  ASSERT_EQ(drawn.size(), 3U);
  for (const std::vector<int64_t>& frames : {std::vector<int64_t>{1, 2, 3}, {0, 2, 3}, {0, 1, 3}}) {
    EXPECT_NEAR(drawn[frames], 100, 35);
  }
  // A subset's keyframes draw as they do in the whole split.
  const Windows whole = draw_windows(split_->keyframes, 2, 7, 5);
  const Windows part = draw_windows(split_->keyframes.subset({4, 5, 6, 7}), 2, 7, 5);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(part.frames.index_in_split(i), whole.frames.index_in_split(12 + i));
  }
}

TEST_F(WindowsTest, WithoutMemoryAreAnError) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const Dataset many = split_->keyframes.subset(std::vector<int64_t>(100'000, 0));
  const Windows windows = make_windows(split_->keyframes, 0);
  const std::vector<int64_t> records(16 << 20, 0);
  const auto expect_error = [&](const std::function<void()>& call) {
    testing::expect_error_without_memory(12 << 20, "mini_val: there is not enough memory", call);
  };
  expect_error([&] { make_windows(many, 1000); });
  expect_error([&] { static_cast<void>(windows.mask(records)); });
}

TEST_F(WindowsTest, RefusesScenesThatAreNotWhole) {
  const Dataset& all = split_->keyframes;
  const Dataset backwards = all.subset({4, 6, 5});
  EXPECT_ERROR(make_windows(backwards, 1), invalid_argument);
  EXPECT_ERROR(scene_groups(all.subset({0, 5, 1})), invalid_argument);
  // Scenes in any order, frames left out or repeated.
  EXPECT_EQ(*scene_groups(all.subset({9, 9, 11, 0, 2, 4})), (std::vector<int64_t>{0, 3, 5}));
}

TEST_F(WindowsTest, ABatchHoldsWholeWindowsThatDrawOnce) {
  const Windows windows = make_windows(split_->keyframes, 2);
  LoaderOptions with = options();
  windows.apply(with.sampler);
  Loader loader(windows.frames, with);
  int num_windows = 0;
  std::vector<float> first_scales;
  while (const auto batch = loader.next()) {
    const auto* intrinsics = static_cast<const float*>(batch->field("intrinsics").data);
    for (int64_t i = 0; i < batch->size(); ++i) {
      const int64_t record = batch->record_indices()[static_cast<size_t>(i)];
      EXPECT_EQ(record % 3, i % 3);
      EXPECT_EQ(intrinsics[9 * i], intrinsics[9 * (i - i % 3)]) << "the frames are resized alike";
      if (i % 3 > 0) continue;
      ++num_windows;
      first_scales.push_back(intrinsics[9 * i]);
      EXPECT_EQ(batch->record_indices()[static_cast<size_t>(i) + 2], record + 2);
    }
  }
  EXPECT_EQ(num_windows, 12);
  std::sort(first_scales.begin(), first_scales.end());
  const auto num_different =
      std::unique(first_scales.begin(), first_scales.end()) - first_scales.begin();
  EXPECT_GT(num_different, 6) << "windows are resized differently";
}

// All pictures are the same one, so only what is drawn makes them differ.
TEST_F(WindowsTest, FramesDrawTheirDistortionAlone) {
  const auto picture = encode_jpeg(testing::make_picture(160, 90).view());
  testing::make_nuscenes(
      dir_ / "same",
      {.num_scenes = 1, .keyframes_per_scene = 3, .images = std::vector(kCameras.size(), picture)});
  const Split split = open_split(dir_ / "same", "mini_val");
  const Windows windows = make_windows(split.keyframes, 2);
  KeyframeOptions fields;
  fields.cameras.image.transform = ScalePad{.size = {64, 96}};
  fields.cameras.image.augmentations = {PhotoMetricDistortion{}};
  LoaderOptions with{.batch_size = 9, .image_field = "", .label_field = ""};
  with.sampler = {.order = Order::sequential, .tail = Tail::exact, .seed = 2};
  with.fields = keyframe_fields(split, fields);
  windows.apply(with.sampler);
  Loader loader(windows.frames, with);
  const auto batch = loader.next();
  const auto first_value = [&](int64_t sample, int64_t camera) {
    const auto* images = static_cast<const float*>(batch->field("images").data);
    return images[(6 * sample + camera) * 3 * 64 * 96];
  };
  std::set<float> values;
  for (int64_t sample = 6; sample < 9; ++sample) {  // the window that repeats no frame
    for (int64_t camera = 0; camera < 6; ++camera) values.insert(first_value(sample, camera));
  }
  EXPECT_GT(values.size(), 15U) << "of 18 pictures";
  EXPECT_NE(first_value(8, 0), first_value(2, 0)) << "of two windows";
}

TEST_F(WindowsTest, BatchesAreTheSameForAnyThreadsAndWhenResumed) {
  const Windows windows = make_windows(split_->keyframes, 1);
  LoaderOptions with = options();
  windows.apply(with.sampler);
  Loader reference(windows.frames, with);
  const auto expected = testing::collect_epoch(reference, 3);
  with.num_threads = 1;
  Loader loader(windows.frames, with);
  loader.set_epoch(3);
  EXPECT_EQ(testing::collect(*loader.next()), expected[0]);
  const LoaderState state = loader.state();
  with.num_threads = 4;
  Loader resumed(windows.frames, with);
  resumed.restore(state);
  auto rest = testing::collect_rest(resumed);
  ASSERT_EQ(rest.size(), expected.size() - 1);
  for (size_t i = 0; i < rest.size(); ++i) {
    rest[i].step = expected[i + 1].step;
    EXPECT_EQ(rest[i], expected[i + 1]);
  }
}

// The sweeps that a keyframe's record names among the `num_previous` frames before it.
std::vector<int64_t> named_sweeps(const Dataset& keyframes, int64_t record, size_t num_previous) {
  std::vector<std::byte> bytes;
  const size_t field = keyframes.schema().require(channel_field(kLidar, channel::kSweeps));
  keyframes.read_field(record, field, bytes);
  const TensorView stored = FieldView(keyframes.schema().fields[field], bytes, false).tensor();
  std::vector<int64_t> pairs(stored.data.size() / sizeof(int64_t));
  if (!pairs.empty()) std::memcpy(pairs.data(), stored.data.data(), stored.data.size());
  std::vector<int64_t> sweeps;
  for (size_t i = 0; i < pairs.size() && i < 2 * num_previous; i += 2) {
    if (pairs[i] == 1) sweeps.push_back(pairs[i + 1]);
  }
  return sweeps;
}

TEST(SweepAnnouncer, AnnouncesWhatKeyframesName) {
  testing::TempDir dir;
  testing::make_nuscenes(dir / "set", {.num_scenes = 3, .keyframes_per_scene = 4});
  const Split split = open_split(dir / "set", "mini_val");
  for (const int64_t num_previous : {1, 5, 10}) {
    const SweepAnnouncer announcer(split.keyframes, *split.sweeps,
                                   {"RADAR_FRONT", std::string(kLidar)}, num_previous);
    for (int64_t record = 0; record < split.keyframes.num_records(); ++record) {
      announcer.announce(record);
      EXPECT_EQ(announcer.range(record, 0).begin, announcer.range(record, 0).end);
      // Of its scene, none but those before it, and all that are named: a few more where keyframes
      // are among the frames before.
      const SweepAnnouncer::Range& range = announcer.range(record, 1);
      const auto named = named_sweeps(split.keyframes, record, static_cast<size_t>(num_previous));
      EXPECT_LE(range.end - range.begin, num_previous);
      if (named.empty()) {
        EXPECT_EQ(record % 4, 0);
        EXPECT_EQ(range.begin, range.end);
        continue;
      }
      EXPECT_EQ(range.end, named.front() + 1);
      EXPECT_LE(range.begin, named.back());
      EXPECT_GE(range.begin, record / 4 * 6);  // where the sweeps of its scene begin
    }
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
