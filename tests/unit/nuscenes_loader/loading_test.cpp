// Batches of keyframes: made-up sets, and the small real one.
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/record.h>

#include "collect_epoch.h"
#include "nuscenes/make_nuscenes.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr int kPoints = 200;

TEST(OpenSplit, TakesTheLimitsOfItsShards) {
  const testing::TempDir dir;
  testing::make_nuscenes(dir / "set", {.num_points = kPoints});
  const Split split = open_split(dir / "set", "mini_val", {.max_record_bytes = 100});
  EXPECT_EQ(split.keyframes.shard(0).options().max_record_bytes, 100);
  EXPECT_ERROR(split.keyframes.locate(0), unsupported, .record = 0, .subject = sample);
  ASSERT_TRUE(split.sweeps.has_value());
  EXPECT_ERROR(split.sweeps->locate(0), unsupported, .record = 0, .subject = sample);
}

class KeyframeLoading : public ::testing::Test {
 protected:
  KeyframeLoading() {
    testing::make_nuscenes(dir_ / "set", {.num_points = kPoints});
    split_.emplace(open_split(dir_ / "set", "mini_val"));
  }
  static KeyframeOptions fields() {
    KeyframeOptions options;
    options.cameras.image.transform =
        ResizeCrop{.size = {40, 80}, .factor_min = 0.5, .factor_max = 0.5};
    options.cameras.image.output = {.dtype = DType::u8, .normalize = false};
    options.lidar.max_points = 5000;
    return options;
  }
  static KeyframeOptions augmented() {
    KeyframeOptions options = fields();
    options.cameras.image.transform = ResizeCrop{.size = {40, 80},
                                                 .factor_min = 0.5,
                                                 .factor_max = 0.8,
                                                 .bottom_max = 0.1,
                                                 .centered = false,
                                                 .flip_probability = 0.5};
    options.bev = {.rotation_min = -0.4,
                   .rotation_max = 0.4,
                   .scale_min = 0.9,
                   .scale_max = 1.1,
                   .flip_x_probability = 0.5,
                   .flip_y_probability = 0.5};
    return options;
  }
  LoaderOptions options(const KeyframeOptions& keyframes) const {
    LoaderOptions out{.batch_size = 3, .image_field = "", .label_field = ""};
    out.num_threads = 2;
    out.sampler = {.order = Order::sequential, .tail = Tail::exact, .seed = 9};
    out.fields = keyframe_fields(*split_, keyframes);
    return out;
  }
  testing::TempDir dir_;
  std::optional<Split> split_;
};

std::vector<int64_t> shape_of(const Batch& batch, const char* name) {
  const auto shape = batch.field(name).shape;
  return {shape.begin(), shape.end()};
}

template <typename T>
const T* values_of(const Batch& batch, const char* name) {
  return static_cast<const T*>(batch.field(name).data);
}

TEST_F(KeyframeLoading, FieldsHaveTheirShapes) {
  KeyframeOptions with = fields();
  with.radar.is_on = true;
  with.lidar.layout = RowLayout::padded;
  Loader loader(split_->keyframes, options(with));
  const auto batch = loader.next();
  EXPECT_EQ(shape_of(*batch, "images"), (std::vector<int64_t>{3, 6, 3, 40, 80}));
  EXPECT_EQ(shape_of(*batch, "intrinsics"), (std::vector<int64_t>{3, 6, 3, 3}));
  EXPECT_EQ(shape_of(*batch, "lidar_to_camera"), (std::vector<int64_t>{3, 6, 4, 4}));
  EXPECT_EQ(shape_of(*batch, "lidar_to_image"), (std::vector<int64_t>{3, 6, 4, 4}));
  EXPECT_EQ(shape_of(*batch, "lidar_to_global"), (std::vector<int64_t>{3, 4, 4}));
  EXPECT_EQ(shape_of(*batch, "points"), (std::vector<int64_t>{3, 5000, 6}));
  // One of the four points of each radar is of an invalid state.
  EXPECT_EQ(shape_of(*batch, "radar_points"), (std::vector<int64_t>{3 * 5 * 3, 19}));
  // Of the six boxes one is of no class and one without points.
  EXPECT_EQ(shape_of(*batch, "boxes"), (std::vector<int64_t>{3 * 4, 9}));
  EXPECT_EQ(shape_of(*batch, "box_classes"), (std::vector<int64_t>{3 * 4}));
  const auto* classes = values_of<int64_t>(*batch, "box_classes");
  EXPECT_EQ(kClasses[static_cast<size_t>(classes[2])], "pedestrian");
  EXPECT_EQ(values_of<int64_t>(*batch, "timestamp")[0], 1532402927000000);
  EXPECT_EQ(values_of<float>(*batch, "boxes")[9 + 7], 0) << "the unknown velocity";
}

TEST_F(KeyframeLoading, CloudsHaveTheSweepsBeforeThem) {
  KeyframeOptions with = fields();
  with.lidar.min_distance = 0;
  Loader loader(split_->keyframes, options(with));
  const auto batch = loader.next();
  // Of a scene's first keyframe alone; then with 2 sweeps and a keyframe more each.
  const auto offsets = batch->row_offsets("points");
  EXPECT_EQ(std::vector<int64_t>(offsets.begin(), offsets.end()),
            (std::vector<int64_t>{0, kPoints, 5 * kPoints, 12 * kPoints}));
  const auto* points = values_of<float>(*batch, "points");
  for (int64_t sweep = 0; sweep < 4; ++sweep) {
    EXPECT_NEAR(points[(kPoints + sweep * kPoints) * 6 + 5], 0.050001 * double(sweep), 1e-6);
  }
  // The newest only, as many as there is room for.
  with.lidar.max_points = kPoints + 50;
  Loader few(split_->keyframes, options(with));
  const auto cut = few.next();
  EXPECT_EQ(cut->row_offsets("points")[2] - cut->row_offsets("points")[1], kPoints + 50);
  with = fields();
  with.lidar.num_sweeps = 2;
  Loader two(split_->keyframes, options(with));
  const auto of_two = two.next();
  const auto near = of_two->row_offsets("points");
  EXPECT_LT(near[2] - near[1], 2 * kPoints);  // without those on the vehicle
  EXPECT_GT(near[2] - near[1], kPoints);
}

TEST_F(KeyframeLoading, SubsetsHaveTheirOwnClouds) {
  Loader all(split_->keyframes, options(fields()));
  std::vector<std::vector<float>> clouds;  // by keyframe
  const auto take = [](const Batch& batch, std::vector<std::vector<float>>& to) {
    const auto* points = values_of<float>(batch, "points");
    const auto offsets = batch.row_offsets("points");
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      to.emplace_back(points + 6 * offsets[i], points + 6 * offsets[i + 1]);
    }
  };
  while (const auto batch = all.next()) take(*batch, clouds);
  ASSERT_EQ(clouds.size(), 6U);
  const std::vector<int64_t> chosen = {5, 1, 4, 2};
  const Dataset subset = split_->keyframes.subset(chosen);
  const Dataset few_sweeps = split_->sweeps->subset({7, 0});
  for (const Split& split : {*split_, Split{subset, split_->sweeps}, Split{subset, few_sweeps}}) {
    LoaderOptions with = options(fields());
    with.fields = keyframe_fields(split, fields());
    Loader loader(subset, with);
    std::vector<std::vector<float>> found;
    while (const auto batch = loader.next()) take(*batch, found);
    ASSERT_EQ(found.size(), chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(found[i], clouds[static_cast<size_t>(chosen[i])]) << chosen[i];
    }
  }
}

TEST_F(KeyframeLoading, RefusesTheSweepsOfAnotherSplit) {
  testing::make_nuscenes(dir_ / "other", {.split = "mini_train"});
  const Split other = open_split(dir_ / "other", "mini_train");
  EXPECT_ERROR(keyframe_fields({split_->keyframes, other.sweeps}, fields()), invalid_argument);
}

TEST_F(KeyframeLoading, RefusesKeyframesOfSeveralDataSets) {
  const Dataset both = Dataset::chain({split_->keyframes, split_->keyframes});
  EXPECT_ERROR(keyframe_fields({.keyframes = both, .sweeps = split_->sweeps}, fields()),
               invalid_argument);
}

TEST_F(KeyframeLoading, RefusesKeyframesOfAnotherSplit) {
  testing::make_nuscenes(dir_ / "other", {.split = "mini_train", .num_scenes = 5});
  const Split other = open_split(dir_ / "other", "mini_train");
  // Of the other split, whose first scenes have the same times here.
  LoaderOptions with = options(fields());
  with.bad_samples = BadSamples::skip;
  Loader loader(other.keyframes.subset({6, 7, 8}), with);
  EXPECT_ERROR(loader.next(), invalid_argument, .subject = sample);
  KeyframeOptions alone = fields();
  alone.lidar.num_sweeps = 1;
  EXPECT_TRUE(Loader(other.keyframes.subset({6, 7, 8}), options(alone)).next().has_value());
}

// A point of the world stays where it is, whatever the augmentation: by the matrix to the global
// frame.
TEST_F(KeyframeLoading, AugmentedPointsAndBoxesAreThePlainOnesInTheGlobalFrame) {
  Loader plain_loader(split_->keyframes, options(fields()));
  Loader augmented_loader(split_->keyframes, options(augmented()));
  const auto plain = plain_loader.next();
  const auto moved = augmented_loader.next();
  const auto to_global = [](const Batch& batch, int64_t sample, const float* p) {
    const double* m = values_of<double>(batch, "lidar_to_global") + 16 * sample;
    Vector3 out{};
    for (size_t row = 0; row < 3; ++row) {
      out[row] = m[4 * row] * p[0] + m[4 * row + 1] * p[1] + m[4 * row + 2] * p[2] + m[4 * row + 3];
    }
    return out;
  };
  const auto offsets = plain->row_offsets("points");
  const auto moved_offsets = moved->row_offsets("points");
  ASSERT_TRUE(std::equal(offsets.begin(), offsets.end(), moved_offsets.begin()));
  double largest_move = 0;
  for (const char* name : {"points", "boxes"}) {
    const int64_t columns = plain->field(name).shape[1];
    for (int64_t sample = 0; sample < plain->size(); ++sample) {
      const auto begin = plain->row_offsets(name)[static_cast<size_t>(sample)];
      const auto end = plain->row_offsets(name)[static_cast<size_t>(sample) + 1];
      for (int64_t i = begin; i < end; ++i) {
        const float* a = values_of<float>(*plain, name) + i * columns;
        const float* b = values_of<float>(*moved, name) + i * columns;
        const Vector3 at = to_global(*plain, sample, a);
        const Vector3 moved_at = to_global(*moved, sample, b);
        for (size_t k = 0; k < 3; ++k) ASSERT_NEAR(at[k], moved_at[k], 1e-4);
        largest_move = std::max(largest_move, std::fabs(double(a[0]) - double(b[0])));
      }
    }
  }
  EXPECT_GT(largest_move, 1);
}

// A plain point's pixel in the stored image, sent through the crop's map, is where lidar_to_image
// puts the augmented point.
TEST_F(KeyframeLoading, PointsProjectToTheSamePlaceOfTheImage) {
  KeyframeOptions plain_options = fields();
  // The image as it is stored.
  plain_options.cameras.image.transform =
      ResizeCrop{.size = {90, 160}, .factor_min = 1, .factor_max = 1};
  Loader plain_loader(split_->keyframes, options(plain_options));
  const KeyframeOptions with = augmented();
  Loader augmented_loader(split_->keyframes, options(with));
  const auto plain = plain_loader.next();
  const auto moved = augmented_loader.next();
  const auto pixel = [](const Batch& batch, int64_t sample, int64_t camera, const float* p) {
    const float* m = values_of<float>(batch, "lidar_to_image") + 16 * (6 * sample + camera);
    std::array<double, 3> out{};
    for (size_t row = 0; row < 3; ++row) {
      out[row] = double(m[4 * row]) * p[0] + double(m[4 * row + 1]) * p[1] +
                 double(m[4 * row + 2]) * p[2] + double(m[4 * row + 3]);
    }
    return std::array<double, 3>{out[0] / out[2], out[1] / out[2], out[2]};
  };
  int num_seen = 0;
  for (int64_t sample = 0; sample < 3; ++sample) {
    const SampleKey key{9, 0, sample};
    const int64_t begin = plain->row_offsets("points")[static_cast<size_t>(sample)];
    for (int64_t camera = 0; camera < 6; ++camera) {
      const ImageMap map = image_map(std::get<ResizeCrop>(with.cameras.image.transform), 160, 90,
                                     image_key(key, static_cast<size_t>(camera)));
      for (int64_t i = begin; i < begin + 150; ++i) {
        const auto a = pixel(*plain, sample, camera, values_of<float>(*plain, "points") + 6 * i);
        const auto b = pixel(*moved, sample, camera, values_of<float>(*moved, "points") + 6 * i);
        if (a[2] < 1 || a[0] < 0 || a[0] > 160 || a[1] < 0 || a[1] > 90) continue;
        ++num_seen;
        EXPECT_NEAR(map.scale_x * a[0] + map.offset_x, b[0], 2e-2);
        EXPECT_NEAR(map.scale_y * a[1] + map.offset_y, b[1], 2e-2);
      }
    }
  }
  EXPECT_GT(num_seen, 100);
}

// BEVFormer's: the stored matrices times the factor, whatever the pictures were truncated to, and
// zeros below and beside the pictures.
TEST_F(KeyframeLoading, CamerasTakeAScalePad) {
  KeyframeOptions plain_options = fields();
  plain_options.cameras.image.transform =
      ResizeCrop{.size = {90, 160}, .factor_min = 1, .factor_max = 1};
  Loader plain_loader(split_->keyframes, options(plain_options));
  const auto plain = plain_loader.next();
  constexpr double kFactor = 0.33;  // 52 x 29 of 160 x 90 pixels
  KeyframeOptions with = fields();
  with.cameras.image.transform = ScalePad{.size = {32, 64}, .factor = kFactor};
  with.cameras.image.output = {};
  Loader loader(split_->keyframes, options(with));
  const auto batch = loader.next();
  EXPECT_EQ(shape_of(*batch, "images"), (std::vector<int64_t>{3, 6, 3, 32, 64}));
  for (const auto& [name, side] : {std::pair("intrinsics", 3), {"lidar_to_image", 4}}) {
    const auto* before = values_of<float>(*plain, name);
    const auto* after = values_of<float>(*batch, name);
    for (int i = 0; i < 3 * 6 * side * side; ++i) {
      const double factor = i / side % side < 2 ? kFactor : 1;
      EXPECT_NEAR(after[i], factor * before[i], 1e-6 * std::abs(before[i])) << name << " " << i;
    }
  }
  const auto* images = values_of<float>(*batch, "images");
  for (int plane = 0; plane < 3 * 6 * 3; ++plane) {
    const float* const values = images + ptrdiff_t{plane} * 32 * 64;
    for (int i = 0; i < 32 * 64; ++i) {
      if (i / 64 < 29 && i % 64 < 52) continue;
      ASSERT_EQ(values[i], 0) << plane << ", " << i;
    }
    EXPECT_NE(values[28 * 64 + 51], 0) << plane;
  }
}

TEST_F(KeyframeLoading, BatchesAreTheSameForAnyThreads) {
  LoaderOptions with = options(augmented());
  with.sampler.order = Order::shuffle;
  Loader reference(split_->keyframes, with);
  const auto expected = testing::collect_epoch(reference, 2);
  for (const int num_threads : {1, 5}) {
    with.num_threads = num_threads;
    Loader loader(split_->keyframes, with);
    EXPECT_EQ(testing::collect_epoch(loader, 2), expected);
  }
}

TEST_F(KeyframeLoading, DistortedPicturesAreTheSameForAnyThreads) {
  KeyframeOptions only = fields();
  only.lidar.is_on = false;
  only.boxes.is_on = false;
  only.cameras.image = {.transform = ScalePad{.size = {64, 96}},
                        .augmentations = {PhotoMetricDistortion{}}};
  LoaderOptions with = options(only);
  with.sampler.order = Order::shuffle;
  for (const int batch_size : {1, 3}) {  // one sample: its cameras are parts that threads share
    with.batch_size = batch_size;
    with.num_threads = 1;
    Loader reference(split_->keyframes, with);
    const auto expected = testing::collect_epoch(reference, 2);
    with.num_threads = 4;
    Loader loader(split_->keyframes, with);
    EXPECT_EQ(testing::collect_epoch(loader, 2), expected);
  }
}

// Sweeps are parts of the cloud, which idle threads take: with one sample in a batch there are
// such.
TEST_F(KeyframeLoading, CloudsAreTheSameForAnyThreads) {
  KeyframeOptions only = augmented();
  only.cameras.channels.clear();
  for (const int64_t max_points : {0, 3 * kPoints + 50}) {  // 0: room for all
    only.lidar.max_points = max_points;
    LoaderOptions with = options(only);
    with.batch_size = 1;
    with.memory.prefetch_batches = 1;
    with.num_threads = 1;
    Loader reference(split_->keyframes, with);
    const auto expected = testing::collect_epoch(reference, 2);
    for (const int num_threads : {2, 4}) {
      with.num_threads = num_threads;
      Loader loader(split_->keyframes, with);
      EXPECT_EQ(testing::collect_epoch(loader, 2), expected) << num_threads << ", " << max_points;
    }
  }
}

TEST_F(KeyframeLoading, BadSweepMakesABadSample) {
  const Dataset::Location sweep = split_->sweeps->locate(1);  // of the first scene
  const auto path = split_->sweeps->shard(sweep.shard_index).path();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(sweep.record.offset + sweep.record.stored_bytes / 2);
    file.put('x').put('y').put('z');
  }
  LoaderOptions with = options(fields());
  Loader failing(split_->keyframes, with);
  EXPECT_ERROR(failing.next(), corrupt, .path = path, .record = 1, .subject = sample);
  with.bad_samples = BadSamples::skip;
  Loader skipping(split_->keyframes, with);
  const auto batch = skipping.next();
  ASSERT_EQ(batch->left_out().size(), 2U) << "all but the first keyframe have that sweep";
  EXPECT_EQ(batch->left_out()[0].bad_record, 1);
}

// As ObjectRangeFilter of mmdetection3d, behind the augmentation and in f32.
TEST_F(KeyframeLoading, BoxesOutOfRangeAreLeftOut) {
  KeyframeOptions with = augmented();
  const auto load = [&] {
    Loader loader(split_->keyframes, options(with));
    return std::move(*loader.next());
  };
  const Batch all = load();
  const int64_t num_all = all.field("boxes").shape[0];
  std::vector<std::array<float, 9>> boxes(static_cast<size_t>(num_all));
  std::memcpy(boxes.data(), all.field("boxes").data, all.field("boxes").num_bytes());
  // The third one is on a side, so it is out.
  with.boxes.range = {.x_min = -100, .y_min = -100, .x_max = 100, .y_max = 100};
  for (const bool is_lower : {true, false}) {
    for (const size_t axis : {0, 1}) {
      const double side = boxes[2][axis];
      with.boxes.range = {.x_min = -100, .y_min = -100, .x_max = 100, .y_max = 100};
      BevRange& range = *with.boxes.range;
      if (axis == 0) (is_lower ? range.x_min : range.x_max) = side;
      if (axis == 1) (is_lower ? range.y_min : range.y_max) = side;
      std::vector<std::array<float, 9>> wanted;
      for (const auto& box : boxes) {
        if (is_lower ? box[axis] > side : box[axis] < side) wanted.push_back(box);
      }
      const Batch kept = load();
      ASSERT_EQ(kept.field("boxes").shape[0], std::ssize(wanted));
      ASSERT_EQ(kept.field("box_classes").shape[0], std::ssize(wanted));
      ASSERT_GT(wanted.size(), 0U);
      ASSERT_LT(wanted.size(), boxes.size());
      EXPECT_EQ(std::memcmp(kept.field("boxes").data, wanted.data(), wanted.size() * 36), 0);
    }
  }
  with.boxes.range = {.x_min = 3, .x_max = 3};
  EXPECT_ERROR(keyframe_fields(*split_, with), invalid_argument);
}

TEST_F(KeyframeLoading, MorePointsThanSensorsGiveAreSaid) {
  testing::make_nuscenes(dir_ / "large", {.num_points = 35'500});
  const Split large = open_split(dir_ / "large", "mini_val");
  KeyframeOptions with = fields();
  with.cameras.channels.clear();
  with.lidar = {.num_sweeps = 1, .min_distance = 0};
  LoaderOptions loading = options(fields());
  loading.fields = keyframe_fields(large, with);
  Loader refusing(large.keyframes, loading);
  EXPECT_ERROR(refusing.next(), unsupported, .record = 0, .subject = sample);
  // Those near the vehicle, a fiftieth, do not count.
  with.lidar.min_distance = 1;
  loading.fields = keyframe_fields(large, with);
  Loader without_near(large.keyframes, loading);
  EXPECT_LE(without_near.next()->row_offsets("points")[1], 35'000);
  with.lidar = {.num_sweeps = 1, .min_distance = 0, .max_points = 35'000};
  loading.fields = keyframe_fields(large, with);
  Loader cutting(large.keyframes, loading);
  EXPECT_EQ(cutting.next()->row_offsets("points")[1], 35'000);
}

TEST_F(KeyframeLoading, WhatCannotBeIsSaidAtOnce) {
  KeyframeOptions wrong = fields();
  wrong.lidar.num_sweeps = 0;
  EXPECT_ERROR(keyframe_fields(*split_, wrong), invalid_argument);
  wrong = fields();
  wrong.cameras.image.transform = RandomResizedCrop{};
  EXPECT_ERROR(keyframe_fields(*split_, wrong), invalid_argument);
  wrong = fields();
  wrong.cameras.channels = {"CAM_TOP"};
  EXPECT_ERROR(keyframe_fields(*split_, wrong), not_found, .subject = field);
  wrong = fields();
  wrong.radar = {.is_on = true, .num_sweeps = 3};
  EXPECT_ERROR(keyframe_fields(*split_, wrong), not_found, .subject = field);
  wrong = fields();
  wrong.can_bus = CanBusRule::last_row;
  EXPECT_ERROR(keyframe_fields(*split_, wrong), not_found, .subject = field);
  wrong = fields();
  wrong.boxes.max_boxes = 0;
  EXPECT_ERROR(keyframe_fields(*split_, wrong), invalid_argument);
  wrong = fields();
  wrong.boxes.max_boxes = 2;
  Loader loader(split_->keyframes, options(wrong));
  EXPECT_ERROR(loader.next(), unsupported, .record = 0, .subject = sample);
}

TEST_F(KeyframeLoading, SweepsThatAreNotThereAreSaid) {
  std::filesystem::remove_all(dir_ / "set" / "mini_val_sweeps");
  split_.emplace(open_split(dir_ / "set", "mini_val"));
  Loader loader(split_->keyframes, options(fields()));
  EXPECT_ERROR(loader.next(), invalid_argument, .record = 1, .subject = sample);
}

}  // namespace
}  // namespace ffkit::nuscenes
