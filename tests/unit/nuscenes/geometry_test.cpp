#include "nuscenes/nuscenes_expected.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr double kPi = 3.14159265358979323846;

Quaternion around_z(double angle) {
  return {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
}

void expect_near(const Vector3& a, const Vector3& b, double tolerance) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "coordinate " << i;
}

TEST(Geometry, QuaternionTurnsTheXAxis) {
  const Quaternion q = around_z(kPi / 2);
  expect_near(multiply(rotation_matrix(q), Vector3{1, 0, 0}), {0, 1, 0}, 1e-15);
  EXPECT_NEAR(yaw_of(q), kPi / 2, 1e-15);
  EXPECT_NEAR(lidar_yaw_of(q), kPi / 2, 1e-15);
  // Not of length 1, as rows of the tables may be: the same rotation.
  EXPECT_NEAR(yaw_of({2 * q.w, 0, 0, 2 * q.z}), kPi / 2, 1e-15);
}

TEST(Geometry, ProductTurnsByTheRightOneFirst) {
  const Quaternion around_x = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};
  const Quaternion both = around_x * around_z(kPi / 2);
  expect_near(multiply(rotation_matrix(both), Vector3{1, 0, 0}), {0, 0, 1}, 1e-15);
}

TEST(Geometry, InverseTransformLeadsBack) {
  const Transform there = make_transform({{3, -2, 7}, {0.5, 0.1, -0.7, 0.3}});
  const Vector3 point = {1.5, 2.5, -4};
  expect_near(inverse(there)(there(point)), point, 1e-14);
  expect_near((inverse(there) * there)(point), point, 1e-14);
}

TEST(Geometry, CornersBeginInFrontAboveOnTheLeft) {
  const auto points = corners({.center = {10, 20, 30}, .size = {2, 4, 6}});
  expect_near(points[0], {12, 21, 33}, 0);
  expect_near(points[2], {12, 19, 27}, 0);
  expect_near(points[7], {8, 21, 27}, 0);
}

TEST(Geometry, SidesOfABoxAreInside) {
  const Box box{.center = {1, 1, 1}, .size = {2, 4, 2}, .rotation = {}};
  EXPECT_TRUE(contains(box, {3, 2, 2}));
  EXPECT_FALSE(contains(box, {3.001, 1, 1}));
  EXPECT_FALSE(contains(box, {1, 1, 2.001}));
  EXPECT_FALSE(contains(box, {1, std::numeric_limits<double>::quiet_NaN(), 1}));
}

TEST(Geometry, PoseNeedsSevenFiniteNumbers) {
  const std::vector<double> six(6, 1.0);
  EXPECT_ERROR(make_pose(six), corrupt);
  std::vector<double> seven(7, 1.0);
  EXPECT_EQ(make_pose(seven).rotation.z, 1.0);
  seven[3] = std::numeric_limits<double>::infinity();
  EXPECT_ERROR(make_pose(seven), corrupt);
}

TEST(Geometry, BoxesBehindTheCameraAreNotVisible) {
  const Matrix3 intrinsics = {100, 0, 50, 0, 100, 50, 0, 0, 1};
  const auto visible_at = [&](double depth) {
    return is_visible(corners({.center = {0, 0, depth}, .size = {1, 1, 1}}), intrinsics, 100, 100);
  };
  EXPECT_TRUE(visible_at(10));
  EXPECT_FALSE(visible_at(0.4));  // a corner is behind
  // Seen, but nearer than 1 m with every corner.
  EXPECT_FALSE(
      is_visible(corners({.center = {0, 0, 0.5}, .size = {0.1, 0.1, 0.1}}), intrinsics, 100, 100));
  EXPECT_FALSE(visible_at(-10));
}

// Boxes of all samples in all cameras: which are visible, and where their corners are.
TEST(GeometryOfDevkit, ProjectedCornersAgree) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const auto expected = read_json(root / "expected.json");
  int num_boxes = 0;
  for (const auto& sample : expected["samples"]) {
    for (const auto& [channel, camera] : sample["cameras"].items()) {
      std::map<std::string, nlohmann::json> wanted;
      for (const auto& seen : camera["boxes"]) wanted[seen["annotation_token"]] = seen;
      const auto& meta = sample["channels"][channel];
      Matrix3 intrinsics{};
      for (size_t i = 0; i < 9; ++i) intrinsics[i] = camera["camera_intrinsic"][i / 3][i % 3];
      for (const auto& annotation : sample["annotations"]) {
        const Box seen = move_back(move_back(box(annotation), pose(meta["ego_pose"])),
                                   pose(meta["calibrated_sensor"]));
        const auto points = corners(seen);
        const auto found = wanted.find(annotation["token"]);
        ASSERT_EQ(is_visible(points, intrinsics, meta["width"], meta["height"]),
                  found != wanted.end());
        if (found == wanted.end()) continue;
        ++num_boxes;
        for (size_t i = 0; i < 8; ++i) {
          const Projection at = project(intrinsics, points[i]);
          EXPECT_NEAR(at.x, number(found->second["corners"][i][0]), 1e-6);
          EXPECT_NEAR(at.y, number(found->second["corners"][i][1]), 1e-6);
        }
      }
    }
  }
  EXPECT_GT(num_boxes, 500);
}

TEST(GeometryOfDevkit, BoxesInTheLidarFrameAgree) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const auto expected = read_json(root / "expected.json");
  for (const auto& sample : expected["samples"]) {
    const auto& lidar = sample["channels"]["LIDAR_TOP"];
    for (const auto& annotation : sample["annotations"]) {
      const Box seen = move_back(move_back(box(annotation), pose(lidar["ego_pose"])),
                                 pose(lidar["calibrated_sensor"]));
      const auto numbers = lidar_box_numbers(seen);
      const auto& wanted = annotation["lidar_box"];
      expect_near({numbers[0], numbers[1], numbers[2]}, vector3(wanted["center"]), 1e-9);
      expect_near({numbers[4], numbers[3], numbers[5]}, vector3(wanted["wlh"]), 0);
      EXPECT_NEAR(numbers[6], number(wanted["yaw_pitch_roll0"]), 1e-9);
    }
  }
}

// The points of the one real cloud: num_lidar_pts of its 69 boxes.
TEST(GeometryOfDevkit, PointsInBoxesAreCountedAlike) {
  FFKIT_REQUIRE_SHARED_DATA(root, "nuscenes");
  const auto expected = read_json(root / "expected.json");
  const auto& sample = expected["samples"][0];
  const auto& lidar = sample["channels"]["LIDAR_TOP"];
  std::ifstream file(root / "root" / lidar["filename"].get<std::string>(), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> points(bytes.size() / sizeof(float));
  std::memcpy(points.data(), bytes.data(), points.size() * sizeof(float));
  for (const auto& annotation : sample["annotations"]) {
    const BoxInterior inside(move_back(move_back(box(annotation), pose(lidar["ego_pose"])),
                                       pose(lidar["calibrated_sensor"])));
    int count = 0;
    for (size_t i = 0; i < points.size(); i += 5) {
      count += inside.contains({points[i], points[i + 1], points[i + 2]}) ? 1 : 0;
    }
    EXPECT_EQ(count, annotation["num_lidar_pts"]);
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
