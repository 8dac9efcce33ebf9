#include <ffkit/nuscenes/loading.h>

#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<DrawnBev> all_kinds() {
  std::vector<DrawnBev> kinds;
  for (const bool flip_x : {false, true}) {
    for (const bool flip_y : {false, true}) kinds.push_back({0.7, 1.25, flip_x, flip_y});
  }
  return kinds;
}

// A box and its corners as points are moved alike.
TEST(BevAugmentation, BoxesFollowTheirPoints) {
  for (const DrawnBev& drawn : all_kinds()) {
    for (const double yaw : {0.0, 1.0, -2.5, 3.1}) {
      const std::array<float, 9> box = {10, -4, 1, 4.5F, 1.9F, 1.6F, float(yaw), 3, -2};
      const std::array<float, 9> moved = drawn(box);
      const auto front_of = [](const std::array<float, 9>& b) {
        return Vector3{b[0] + b[3] / 2 * std::cos(double(b[6])),
                       b[1] + b[3] / 2 * std::sin(double(b[6])), b[2]};
      };
      const Vector3 front = drawn.matrix()(front_of(box));
      const Vector3 expected = front_of(moved);
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(front[i], expected[i], 1e-5);
      // Where it is a moment later.
      const Vector3 later = drawn.matrix()({10 + 3 * 0.1, -4 - 2 * 0.1, 1});
      EXPECT_NEAR(later[0], moved[0] + moved[7] * 0.1, 1e-5);
      EXPECT_NEAR(later[1], moved[1] + moved[8] * 0.1, 1e-5);
      EXPECT_NEAR(moved[4], 1.9 * 1.25, 1e-6);
      EXPECT_LE(std::fabs(moved[6]), kPi + 1e-6);
    }
  }
}

TEST(BevAugmentation, InverseLeadsBack) {
  for (const DrawnBev& drawn : all_kinds()) {
    const Vector3 back = drawn.inverse_matrix()(drawn.matrix()({3, 4, 5}));
    EXPECT_NEAR(back[0], 3, 1e-12);
    EXPECT_NEAR(back[1], 4, 1e-12);
    EXPECT_NEAR(back[2], 5, 1e-12);
  }
}

TEST(BevAugmentation, DrawsWithinItsRangesFromTheKeyAlone) {
  const BevAugmentation options{.rotation_min = -0.4,
                                .rotation_max = 0.4,
                                .scale_min = 0.95,
                                .scale_max = 1.05,
                                .flip_x_probability = 0.5,
                                .flip_y_probability = 0.5};
  int num_x = 0;
  int num_y = 0;
  for (int64_t record = 0; record < 400; ++record) {
    const SampleKey key{.seed = 1, .epoch = 2, .record_index = record};
    const DrawnBev drawn = draw(options, key);
    EXPECT_LE(std::fabs(drawn.rotation), 0.4);
    EXPECT_LE(std::fabs(drawn.scale - 1), 0.05);
    EXPECT_EQ(drawn.rotation, draw(options, key).rotation);
    num_x += drawn.flip_x ? 1 : 0;
    num_y += drawn.flip_y ? 1 : 0;
  }
  EXPECT_NEAR(num_x, 200, 50);
  EXPECT_NEAR(num_y, 200, 50);
  EXPECT_NE(num_x, num_y);
  const DrawnBev none = draw({}, {.seed = 1});
  EXPECT_EQ(none.rotation, 0);
  EXPECT_EQ(none.scale, 1);
  EXPECT_FALSE(none.flip_x || none.flip_y);
}

TEST(BevAugmentation, OptionsOutOfRangeAreRefused) {
  EXPECT_ERROR(validate({.rotation_min = 1}), invalid_argument);
  EXPECT_ERROR(validate({.scale_min = 0}), invalid_argument);
  EXPECT_ERROR(validate({.flip_y_probability = 1.5}), invalid_argument);
}

}  // namespace
}  // namespace ffkit::nuscenes
