// Batches of a made-up data root that was converted: files that are missing, CAN bus messages.
#include <nlohmann/json.hpp>

#include <ffkit/converter/convert.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/sources/nuscenes.h>

#include "collect_epoch.h"
#include "nuscenes/nuscenes_root.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

using nlohmann::json;
using testing::NuScenesTables;

class ConvertedRoot : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_nuscenes_root(root()); }

  fs::path root() const { return dir_ / "root"; }
  std::string first_file(const std::string& folder) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(root() / folder)) {
      files.push_back(entry.path().string());
    }
    return *std::min_element(files.begin(), files.end());
  }
  Split converted(const NuScenesOptions& options = {}) {
    convert(*open_nuscenes(root(), options), dir_ / "data", {});
    return open_split(dir_ / "data", "mini_train");
  }
  static KeyframeOptions fields() {
    KeyframeOptions options;
    options.cameras.image.transform =
        ResizeCrop{.size = {16, 16}, .factor_min = 0.5, .factor_max = 0.5};
    options.cameras.image.output = {.dtype = DType::u8, .normalize = false};
    options.lidar = {.num_sweeps = 1, .min_distance = 0};
    return options;
  }
  std::optional<Batch> first_batch(const Split& split, const KeyframeOptions& options) {
    LoaderOptions with{.batch_size = 3, .image_field = "", .label_field = ""};
    with.num_threads = 2;
    with.sampler = {.order = Order::sequential, .tail = Tail::exact};
    with.fields = keyframe_fields(split, options);
    loaders_.push_back(std::make_unique<Loader>(split.keyframes, with));
    return loaders_.back()->next();
  }

  testing::TempDir dir_;
  std::vector<std::unique_ptr<Loader>> loaders_;
};

template <typename T>
const T* data_of(const Batch& batch, const char* name) {
  return static_cast<const T*>(batch.field(name).data);
}

TEST_F(ConvertedRoot, FilesThatAreMissingAreMasked) {
  fs::remove(first_file("samples/CAM_BACK"));
  testing::write_bytes(first_file("samples/LIDAR_TOP"), "cut");
  const Split split = converted({.allow_partial = true});
  KeyframeOptions with = fields();
  EXPECT_ERROR(first_batch(split, with), not_found, .record = 0, .subject = field);
  with.allow_missing = true;
  const auto batch = first_batch(split, with);
  const auto camera_shape = batch->field("camera_valid").shape;
  ASSERT_EQ(std::vector<int64_t>(camera_shape.begin(), camera_shape.end()),
            (std::vector<int64_t>{3, 6}));
  const auto* images = data_of<uint8_t>(*batch, "images");
  constexpr size_t kImageBytes = 3 * 16 * 16;
  const auto back = static_cast<size_t>(std::find(kCameras.begin(), kCameras.end(), "CAM_BACK") -
                                        kCameras.begin());
  for (size_t image = 0; image < 18; ++image) {
    EXPECT_EQ(data_of<uint8_t>(*batch, "camera_valid")[image], image == back ? 0 : 1) << image;
    const uint8_t* pixels = images + image * kImageBytes;
    EXPECT_EQ(std::all_of(pixels, pixels + kImageBytes, [](uint8_t p) { return p == 0; }),
              image == back)
        << image;
  }
  // Halved, and cropped in the middle of 800 x 450.
  const float* intrinsics = data_of<float>(*batch, "intrinsics") + 9 * back;
  EXPECT_NEAR(intrinsics[0], 1266.4 / 2, 1e-2);
  EXPECT_NEAR(intrinsics[2], 816.2 / 2 - 392, 1);
  const auto lidar_shape = batch->field("lidar_valid").shape;
  ASSERT_EQ(std::vector<int64_t>(lidar_shape.begin(), lidar_shape.end()),
            (std::vector<int64_t>{3}));
  const auto* lidar = data_of<uint8_t>(*batch, "lidar_valid");
  EXPECT_EQ(std::vector<int>(lidar, lidar + 3), (std::vector<int>{0, 1, 1}));
  const auto offsets = batch->row_offsets("points");
  EXPECT_EQ(offsets[1], 0);
  EXPECT_GT(offsets[2], 0);
}

TEST_F(ConvertedRoot, RadarsThatAreMissingAreMasked) {
  fs::remove(first_file("samples/RADAR_FRONT_LEFT"));
  const Split split = converted({.allow_partial = true});
  KeyframeOptions with = fields();
  with.cameras.channels = {};
  with.radar.is_on = true;
  with.allow_missing = true;
  const auto batch = first_batch(split, with);
  const auto shape = batch->field("radar_valid").shape;
  ASSERT_EQ(std::vector<int64_t>(shape.begin(), shape.end()), (std::vector<int64_t>{3, 5}));
  const auto missing = std::find(kRadars.begin(), kRadars.end(), "RADAR_FRONT_LEFT");
  ASSERT_NE(missing, kRadars.end());
  for (size_t radar = 0; radar < 15; ++radar) {
    const bool is_missing = radar == static_cast<size_t>(missing - kRadars.begin());
    EXPECT_EQ(data_of<uint8_t>(*batch, "radar_valid")[radar], is_missing ? 0 : 1) << radar;
  }
}

// Rows whose numbers are all `value`, but for the time.
json message(int64_t time, double value) {
  const json three = {value, value + 0.25, value + 0.5};
  return {{"accel", three}, {"orientation", {value, value + 1, value + 2, value + 3}},
          {"pos", three},   {"rotation_rate", three},
          {"utime", time},  {"vel", three}};
}

// What _get_can_bus_info() of BEVFormer gives for these messages, run in Python: 10, 20, ... of
// `pos` and `orientation`, then of the others.
TEST_F(ConvertedRoot, CanBusRowsAreChosenByTheRuleThatIsNamed) {
  const int64_t time = NuScenesTables::time_of(0, 0);  // keyframes are 500,000 apart
  const json messages = {message(time - 5, 10), message(time + 1, 20), message(time + 400'000, 30),
                         message(time + 500'001, 40), message(time + 900'000, 50)};
  testing::write_bytes(root() / "can_bus/scene-0061_pose.json", messages.dump());
  const Split split = converted();
  const struct {
    CanBusRule rule;
    std::array<double, 3> place;  // of keyframes 0, 1, 2
    std::array<double, 3> motion;
  } kCases[] = {{CanBusRule::last_row, {10, 30, 50}, {10, 30, 50}},
                {CanBusRule::bevformer_code, {10, 30, 50}, {20, 40, 50}}};
  for (const auto& c : kCases) {
    KeyframeOptions with = fields();
    with.can_bus = c.rule;
    const auto batch = first_batch(split, with);
    for (size_t i = 0; i < 3; ++i) {
      const double* row = data_of<double>(*batch, "can_bus") + 18 * i;
      const double p = c.place[i];
      const double m = c.motion[i];
      const std::vector<double> wanted = {p,       p + 0.25, p + 0.5,  p,       p + 1, p + 2,
                                          p + 3,   m,        m + 0.25, m + 0.5, m,     m + 0.25,
                                          m + 0.5, m,        m + 0.25, m + 0.5, 0,     0};
      EXPECT_EQ(std::vector<double>(row, row + 18), wanted) << i;
    }
  }
}

TEST_F(ConvertedRoot, MotionTakesFromTheCanBusWhatIsNotThePose) {
  const int64_t time = NuScenesTables::time_of(0, 0);
  testing::write_bytes(root() / "can_bus/scene-0061_pose.json",
                       json{message(time - 5, 10), message(time + 1, 20)}.dump());
  const Split split = converted();
  for (const CanBusRule rule :
       {CanBusRule::none, CanBusRule::last_row, CanBusRule::bevformer_code}) {
    KeyframeOptions with = fields();
    with.can_bus = rule;
    const auto can_bus = first_batch(split, with);
    with.motion = true;
    const auto batch = first_batch(split, with);
    const double* motion = data_of<double>(*batch, "motion");
    EXPECT_ERROR(batch->field("can_bus"), not_found, .subject = field);
    EXPECT_NE(motion[0], 10) << "the pose is the lidar's";
    for (size_t i = 7; i < 16; ++i) {
      const bool is_none = rule == CanBusRule::none;
      EXPECT_EQ(motion[i], is_none ? 0 : data_of<double>(*can_bus, "can_bus")[i]) << i;
    }
    EXPECT_EQ(motion[7], rule == CanBusRule::none ? 0 : rule == CanBusRule::last_row ? 10 : 20);
    // Radians and degrees of one angle.
    EXPECT_NEAR(motion[16] * 180 / 3.14159265358979323846, motion[17], 1e-9);
    EXPECT_GE(motion[17], 0);
    EXPECT_LT(motion[17], 360);
  }
}

TEST_F(ConvertedRoot, CanBusIsThatOfTheNearestRowsWhereMessagesAreMissing) {
  const int64_t time = NuScenesTables::time_of(0, 0);
  // None before keyframe 0, none between 1 and 2.
  testing::write_bytes(root() / "can_bus/scene-0061_pose.json",
                       json{message(time + 1, 20), message(time + 2, 30)}.dump());
  const Split split = converted();
  KeyframeOptions with = fields();
  with.can_bus = CanBusRule::last_row;
  const auto batch = first_batch(split, with);
  const double* rows = data_of<double>(*batch, "can_bus");
  EXPECT_EQ(rows[0], 20);
  EXPECT_EQ(rows[18], 30);
  EXPECT_EQ(rows[36], 30);
}

// Real cameras where they are there, made-up ones otherwise. All arrays of all keyframes, whatever
// the scale at which pictures are decoded.
TEST_F(ConvertedRoot, CamerasInTheDctCodeGiveTheSameBatches) {
  const fs::path real = testing::shared_data("nuscenes/root");
  NuScenesOptions store{.version = "v1.0-mini"};
  for (const StoreAs as : {StoreAs::jpeg, StoreAs::dct}) {
    store.images.store = as;
    const auto source = open_nuscenes(real.empty() ? root() : real, store);
    EXPECT_TRUE(convert(*source, dir_ / std::string(to_string(as)), {}).without_dct.empty());
  }
  KeyframeOptions options = fields();
  for (const double factor : {0.24, 0.5, 1.0}) {
    options.cameras.image.transform =
        ResizeCrop{.size = {16, 16}, .factor_min = factor, .factor_max = factor};
    const Split jpegs = open_split(dir_ / "jpeg", "mini_train");
    const Split codes = open_split(dir_ / "dct", "mini_train");
    const auto expected = first_batch(jpegs, options);
    const auto found = first_batch(codes, options);
    ASSERT_TRUE(expected && found);
    EXPECT_EQ(testing::collect(*expected), testing::collect(*found));
  }
}

TEST_F(ConvertedRoot, RadarsAreStoredAsAskedFor) {
  std::string pcd = testing::radar_pcd(4);
  const size_t begin = pcd.size() - 1 - 4 * 43;
  for (size_t point : {1, 2}) {
    char* numbers = &pcd[begin + point * 43];
    numbers[12] = 0;      // dyn_prop
    numbers[35 + 1] = 3;  // ambig_state
    numbers[35 + 4] = 0;  // invalid_state
  }
  testing::write_bytes(first_file("samples/RADAR_FRONT"), pcd);
  for (const bool is_filtered : {false, true}) {
    NuScenesOptions options;
    if (is_filtered) options.radar_filter = {};
    fs::remove_all(dir_ / "data");
    const Split split = converted(options);
    std::vector<std::byte> bytes;
    split.keyframes.read(0, bytes);
    const RecordView record(split.keyframes.schema(), bytes);
    const size_t field = split.keyframes.schema().require("RADAR_FRONT/points");
    EXPECT_EQ(record.tensor(field).shape[0], is_filtered ? 2 : 4);
    EXPECT_EQ(split.keyframes.manifest().options.count("radar_filter"), is_filtered ? 1U : 0U);
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
