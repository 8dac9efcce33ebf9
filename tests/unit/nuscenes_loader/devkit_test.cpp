// The shared data root, converted and loaded, against what the devkit says of it.
#include <ffkit/converter/convert.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/sources/nuscenes.h>

#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

using nlohmann::json;

class LoadedRoot : public ::testing::Test {
 protected:
  void SetUp() override {
    FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
    expected_ = read_json(root / "expected.json");
    convert(*open_nuscenes(root / "root", {.version = "v1.0-mini"}), dir_ / "data", {});
  }

  // Calls visit(batch, sample in it, what is expected of it) for every keyframe.
  template <typename Visit>
  void for_samples(const KeyframeOptions& options, const Visit& visit) {
    int num_samples = 0;
    for (const char* name : {"mini_train", "mini_val"}) {
      std::vector<json> samples;
      for (const json& sample : expected_["samples"]) {
        if (sample["split"] == name) samples.push_back(sample);
      }
      const Split split = open_split(dir_ / "data", name);
      LoaderOptions with{.batch_size = 2, .image_field = "", .label_field = ""};
      with.sampler = {.order = Order::sequential, .tail = Tail::exact};
      with.num_threads = 2;
      with.fields = keyframe_fields(split, options);
      Loader loader(split.keyframes, with);
      while (const auto batch = loader.next()) {
        for (int64_t i = 0; i < batch->size(); ++i, ++num_samples) {
          const int64_t record = batch->record_indices()[static_cast<size_t>(i)];
          visit(*batch, i, samples.at(static_cast<size_t>(record)));
        }
      }
    }
    EXPECT_EQ(num_samples, 8);
  }

  testing::TempDir dir_;
  json expected_;
};

TEST_F(LoadedRoot, AggregatedPointsAreTheDevkits) {
  for (const int num_sweeps : {5, 10}) {
    KeyframeOptions options;
    options.cameras.channels.clear();
    options.lidar.num_sweeps = num_sweeps;
    for_samples(options, [&](const Batch& batch, int64_t i, const json& sample) {
      const json& wanted = sample["multisweep"][num_sweeps == 5 ? 0 : 1];
      const auto offsets = batch.row_offsets("points");
      const auto begin = offsets[static_cast<size_t>(i)];
      const auto end = offsets[static_cast<size_t>(i) + 1];
      ASSERT_EQ(end - begin, wanted["num_points"]);
      const auto* points = static_cast<const float*>(batch.field("points").data);
      std::array<double, 6> sums{};
      for (int64_t row = begin; row < end; ++row) {
        for (size_t column = 0; column < 6; ++column) {
          sums[column] += points[6 * row + static_cast<int64_t>(column)];
        }
      }
      for (size_t column = 0; column < 4; ++column) {
        EXPECT_NEAR(sums[column], wanted["sum_xyzi"][column], 1e-3);
      }
      // The devkit's times are off by up to 5e-7 s, see the data's README.
      EXPECT_NEAR(sums[5], wanted["sum_times"], 5e-7 * static_cast<double>(end - begin));
      EXPECT_NEAR(points[6 * begin], number(wanted["first5"][0]["x"]), 1e-5);
    });
  }
}

TEST_F(LoadedRoot, BoxesInTheLidarFrameProjectAsTheDevkits) {
  KeyframeOptions options;
  options.cameras.image.transform =
      ResizeCrop{.size = {900, 1600}, .factor_min = 1, .factor_max = 1};
  options.cameras.image.output = {.dtype = DType::u8, .normalize = false};
  options.lidar.is_on = false;
  options.boxes.only_valid = options.boxes.only_classes = false;
  int num_projected = 0;
  for_samples(options, [&](const Batch& batch, int64_t i, const json& sample) {
    const auto* boxes = static_cast<const float*>(batch.field("boxes").data);
    const auto first = batch.row_offsets("boxes")[static_cast<size_t>(i)];
    ASSERT_EQ(batch.row_offsets("boxes")[static_cast<size_t>(i) + 1] - first,
              std::ssize(sample["annotations"]));
    std::map<std::string, Box> by_token;
    int64_t row = first;
    for (const json& annotation : sample["annotations"]) {
      const json& wanted = annotation["lidar_box"];
      const float* got = boxes + 9 * row++;
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(got[k], number(wanted["center"][static_cast<size_t>(k)]), 1e-5);
      }
      EXPECT_NEAR(got[6], number(wanted["yaw_pitch_roll0"]), 1e-6);
      by_token[annotation["token"]] = {.center = vector3(wanted["center"]),
                                       .size = vector3(wanted["wlh"]),
                                       .rotation = quaternion(wanted["orientation"])};
    }
    const auto* matrices = static_cast<const float*>(batch.field("lidar_to_image").data);
    for (size_t camera = 0; camera < kCameras.size(); ++camera) {
      const float* m = matrices + 16 * (6 * static_cast<size_t>(i) + camera);
      for (const json& seen : sample["cameras"][std::string(kCameras[camera])]["boxes"]) {
        const auto points = corners(by_token.at(seen["annotation_token"]));
        for (size_t k = 0; k < points.size(); ++k) {
          std::array<double, 3> at{};
          for (size_t r = 0; r < 3; ++r) {
            at[r] = m[4 * r] * points[k][0] + m[4 * r + 1] * points[k][1] +
                    m[4 * r + 2] * points[k][2] + m[4 * r + 3];
          }
          // Matrices of f32: corners beside the camera lie far outside of the image, so relative to
          // that.
          const double x = number(seen["corners"][k][0]);
          const double y = number(seen["corners"][k][1]);
          const double tolerance = 0.02 + 1e-4 * std::max(std::abs(x), std::abs(y));
          EXPECT_NEAR(at[0] / at[2], x, tolerance);
          EXPECT_NEAR(at[1] / at[2], y, tolerance);
          ++num_projected;
        }
      }
    }
  });
  EXPECT_GT(num_projected, 4000);
}

TEST_F(LoadedRoot, RadarPointsAreThoseOfTheDevkitsFilters) {
  KeyframeOptions options;
  options.cameras.channels.clear();
  options.lidar.is_on = options.boxes.is_on = false;
  options.radar.is_on = true;
  for (const bool is_filtered : {true, false}) {
    options.radar_filter = is_filtered ? RadarFilter() : kAllRadarPoints;
    const std::string rule = is_filtered ? "default_filters" : "no_filters";
    for_samples(options, [&](const Batch& batch, int64_t i, const json& sample) {
      int64_t wanted = 0;
      std::array<double, 18> wanted_sums{};
      for (const auto radar : kRadars) {
        const json& of_radar = sample["channels"][std::string(radar)]["radar"];
        wanted += of_radar["num_points_" + rule].get<int>();
        for (size_t column = 0; column < 18; ++column) {
          wanted_sums[column] += of_radar["sum18_" + rule][column].get<double>();
        }
      }
      const auto offsets = batch.row_offsets("radar_points");
      const int64_t begin = offsets[static_cast<size_t>(i)];
      const int64_t end = offsets[static_cast<size_t>(i) + 1];
      EXPECT_EQ(end - begin, wanted);
      const auto* points = static_cast<const float*>(batch.field("radar_points").data);
      for (size_t column = 3; column < 18; ++column) {  // x, y, z are in another frame
        double sum = 0;
        for (int64_t row = begin; row < end; ++row) {
          sum += points[19 * row + static_cast<int64_t>(column)];
        }
        EXPECT_NEAR(sum, wanted_sums[column], 1e-2) << column;
      }
    });
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
