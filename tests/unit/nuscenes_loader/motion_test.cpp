// Where the vehicle is, as BEVFormer takes it, and which keyframe a sample is, of made-up sets.
#include <ffkit/nuscenes/windows.h>

#include "collect_epoch.h"
#include "motion_options.h"
#include "nuscenes/make_nuscenes.h"
#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

class MotionTest : public ::testing::Test {
 protected:
  MotionTest() {
    testing::make_nuscenes(dir_ / "set", {.num_scenes = 3, .keyframes_per_scene = 4});
    split_.emplace(open_split(dir_ / "set", "mini_val"));
  }
  testing::TempDir dir_;
  std::optional<Split> split_;
};

// The vehicle of the made-up set drives a bend, see make_nuscenes.h: over 40 scenes its yaw goes
// from 0 to 3.9, so beyond half a turn.
TEST_F(MotionTest, IsTheVehiclesPose) {
  constexpr int kScenes = 40;
  testing::make_nuscenes(dir_ / "many", {.num_scenes = kScenes, .keyframes_per_scene = 2});
  const Split many = open_split(dir_ / "many", "mini_val");
  Loader loader(many.keyframes, loading(many, only_numbers(), 2 * kScenes));
  const auto batch = loader.next();
  ASSERT_EQ(batch->field("motion").shape.size(), 2U);
  EXPECT_EQ(batch->field("motion").shape[1], 18);
  EXPECT_EQ(batch->field("motion").dtype, DType::f64);
  EXPECT_ERROR(batch->field("can_bus"), not_found, .subject = field);
  for (int scene = 0; scene < kScenes; ++scene) {
    for (int place = 0; place < 2; ++place) {
      const double t = 0.05 * 3 * place;
      const double yaw = 0.1 * scene + 0.2 * t;
      std::vector<double> wanted(18, 0);
      wanted[0] = 1000 * scene + 8 * t;
      wanted[1] = 400 + 2 * t * t;
      wanted[3] = std::cos(yaw / 2);
      wanted[6] = std::sin(yaw / 2);
      wanted[16] = yaw;
      wanted[17] = yaw * 180 / std::numbers::pi;
      const double* row = motion_of(*batch) + static_cast<ptrdiff_t>(18 * (2 * scene + place));
      for (size_t i = 0; i < 18; ++i) EXPECT_NEAR(row[i], wanted[i], 1e-11) << scene << " " << i;
    }
  }
}

// A set that was converted without CAN bus: the rule makes no difference.
TEST_F(MotionTest, WithoutCanBusHasZeros) {
  KeyframeOptions with = only_numbers();
  with.can_bus = CanBusRule::bevformer_code;
  Loader loader(split_->keyframes, loading(*split_, with, 12));
  const auto batch = loader.next();
  for (size_t i = 7; i < 16; ++i) EXPECT_EQ(motion_of(*batch)[i], 0);
  EXPECT_NE(motion_of(*batch)[18 + 17], 0);
}

TEST_F(MotionTest, SamplesAreNamed) {
  // In any order, and where frames of a window share their random numbers.
  const Windows windows = make_windows(split_->keyframes, 1).select(std::vector<int64_t>{7, 4, 2});
  LoaderOptions with = loading(*split_, only_numbers(), 6);
  windows.apply(with.sampler);
  Loader loader(windows.frames, with);
  const auto batch = loader.next();
  const auto samples = batch->strings("sample_token");
  const auto scenes = batch->strings("scene_token");
  const auto* places = static_cast<const int64_t*>(batch->field("frame_index").data);
  EXPECT_EQ(samples, (std::vector<std::string_view>{"sample-1-2", "sample-1-3", "sample-1-0",
                                                    "sample-1-0", "sample-0-1", "sample-0-2"}));
  EXPECT_EQ(scenes.front(), "scene-token-1");
  EXPECT_EQ(scenes.back(), "scene-token-0");
  EXPECT_EQ(std::vector<int64_t>(places, places + 6), (std::vector<int64_t>{2, 3, 0, 0, 1, 2}));
  EXPECT_EQ(batch->field("frame_index").dtype, DType::i64);
}

TEST_F(MotionTest, BatchesAreTheSameForAnyThreads) {
  LoaderOptions with = loading(*split_, only_numbers(), 2);
  with.sampler.order = Order::shuffle;
  Loader reference(split_->keyframes, with);
  const auto expected = testing::collect_epoch(reference, 2);
  ASSERT_EQ(expected.size(), 6U);
  for (const int num_threads : {1, 5}) {
    with.num_threads = num_threads;
    Loader loader(split_->keyframes, with);
    EXPECT_EQ(testing::collect_epoch(loader, 2), expected);
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
