// Where the vehicle is, as BEVFormer takes it, and which keyframe a sample is: made-up sets, and
// the published code's numbers of the real one.
#include <archive.h>
#include <archive_entry.h>

#include <ffkit/converter/convert.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/nuscenes/windows.h>
#include <ffkit/sources/nuscenes.h>

#include "collect_epoch.h"
#include "nuscenes/make_nuscenes.h"
#include "nuscenes/nuscenes_expected.h"
#include "sources/numbers/npy_header.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

KeyframeOptions only_numbers() {
  KeyframeOptions options;
  options.cameras.channels.clear();
  options.lidar.is_on = false;
  options.motion = true;
  options.identity = true;
  return options;
}

LoaderOptions loading(const Split& split, const KeyframeOptions& options, int64_t batch_size) {
  LoaderOptions out{.batch_size = batch_size, .image_field = "", .label_field = ""};
  out.num_threads = 2;
  out.sampler = {.order = Order::sequential, .tail = Tail::exact};
  out.fields = keyframe_fields(split, options);
  return out;
}

const double* motion_of(const Batch& batch) {
  return static_cast<const double*>(batch.field("motion").data);
}

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

// The numbers of an array of an .npz.
template <typename T>
std::vector<T> npz_array(const std::filesystem::path& file, const std::string& name) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> zip(archive_read_new(),
                                                                   archive_read_free);
  archive_read_support_format_zip(zip.get());
  EXPECT_EQ(archive_read_open_filename(zip.get(), file.c_str(), 1 << 16), ARCHIVE_OK) << file;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(zip.get(), &entry) == ARCHIVE_OK) {
    if (archive_entry_pathname(entry) != name + ".npy") continue;
    std::vector<std::byte> bytes(static_cast<size_t>(archive_entry_size(entry)));
    EXPECT_EQ(archive_read_data(zip.get(), bytes.data(), bytes.size()), std::ssize(bytes));
    const NpyHeader header = read_npy_header(bytes);
    EXPECT_EQ(header.dtype, dtype_of<T>());
    std::vector<T> values((bytes.size() - header.data_offset) / sizeof(T));
    std::memcpy(values.data(), bytes.data() + header.data_offset, values.size() * sizeof(T));
    return values;
  }
  ADD_FAILURE() << file << " has no " << name;
  return {};
}

KeyframeOptions with_pictures(KeyframeOptions options, const nlohmann::json& config) {
  options.cameras = {};
  options.cameras.image.transform = ScalePad{
      .size = {config["img_shape"][0].get<int64_t>(), config["img_shape"][1].get<int64_t>()},
      .factor = config["image_scale"].get<double>()};
  return options;
}

// Windows of the real set against what BEVFormer's get_data_info(), union2one() and the filters of
// its pipeline gave for them.
TEST(BevFormerInput, IsThatOfThePublishedCode) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  FFKIT_REQUIRE_SHARED_DATA(fixtures, "bevformer");
  const testing::TempDir dir;
  convert(*open_nuscenes(root / "root", {.version = "v1.0-mini"}), dir / "data", {});
  const Split split = open_split(dir / "data", "mini_train");
  KeyframeOptions with = only_numbers();
  with.can_bus = CanBusRule::bevformer_code;
  with.boxes.range = BevRange{};
  int num_fixtures = 0;
  for (const char* name :
       {"tiny", "tiny_single", "small", "small_single", "small_ms", "small_ms_single"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path numbers = fixtures / (std::string(name) + ".expected.npz");
    const nlohmann::json config =
        read_json(fixtures / (std::string(name) + ".expected.json"))["config"];
    const std::vector<int64_t> frames = config["keyframes"];
    // The matrices are those of the scaled pictures, which take their time.
    const bool has_pictures = name == std::string_view("small");
    const KeyframeOptions own = has_pictures ? with_pictures(with, config) : with;
    const Windows windows = make_windows(split.keyframes, std::ssize(frames) - 1)
                                .select(std::vector<int64_t>{frames.back()});
    LoaderOptions options = loading(split, own, std::ssize(frames));
    windows.apply(options.sampler);
    Loader loader(windows.frames, options);
    const auto batch = loader.next();
    ASSERT_EQ(batch->size(), std::ssize(frames));
    if (has_pictures) {
      const auto wanted = npz_array<double>(numbers, "lidar2img");
      const auto* found = static_cast<const float*>(batch->field("lidar_to_image").data);
      ASSERT_EQ(wanted.size(), frames.size() * 6 * 16);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-3) << i;
    }
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(batch->strings("sample_token")[i], config["sample_tokens"][i]);
      EXPECT_EQ(static_cast<const int64_t*>(batch->field("frame_index").data)[i], frames[i]);
    }
    const auto compare = [](std::span<const double> found, const std::vector<double>& wanted) {
      ASSERT_EQ(found.size(), wanted.size());
      // Positions are near 1000.
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-11) << i;
    };
    std::vector<double> motion(motion_of(*batch), motion_of(*batch) + 18 * batch->size());
    compare(motion, npz_array<double>(numbers, "can_bus_absolute"));
    to_differences(motion, windows.has_previous(batch->record_indices()));
    compare(motion, npz_array<double>(numbers, "can_bus"));

    // Boxes of the last frame: x, y, z of the bottom, w, l, h, yaw, vx, vy in the convention before
    // mmdetection3d 1.0.
    const auto wanted_boxes = npz_array<float>(numbers, "gt_boxes");
    const auto wanted_classes = npz_array<int32_t>(numbers, "gt_labels");
    const auto offsets = batch->row_offsets("boxes");
    const int64_t begin = offsets[frames.size() - 1];
    ASSERT_EQ(offsets[frames.size()] - begin, std::ssize(wanted_classes));
    for (size_t i = 0; i < wanted_classes.size(); ++i) {
      const auto row = begin + static_cast<int64_t>(i);
      EXPECT_EQ(static_cast<const int64_t*>(batch->field("box_classes").data)[row],
                wanted_classes[i]);
      const float* box = static_cast<const float*>(batch->field("boxes").data) + 9 * row;
      const float* wanted = &wanted_boxes[9 * i];
      EXPECT_NEAR(box[0], wanted[0], 1e-5);
      EXPECT_NEAR(box[1], wanted[1], 1e-5);
      EXPECT_NEAR(box[2] - box[5] / 2, wanted[2], 1e-5);
      EXPECT_NEAR(box[4], wanted[3], 1e-6);
      EXPECT_NEAR(box[3], wanted[4], 1e-6);
      EXPECT_NEAR(std::remainder(-box[6] - std::numbers::pi / 2 - wanted[6], 2 * std::numbers::pi),
                  0, 1e-5);
      EXPECT_NEAR(box[7], wanted[7], 1e-4);
      EXPECT_NEAR(box[8], wanted[8], 1e-4);
    }
    ++num_fixtures;
  }
  EXPECT_EQ(num_fixtures, 6);
}

}  // namespace
}  // namespace ffkit::nuscenes
