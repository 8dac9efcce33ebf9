// The made-up nuScenes set through the loader: its pictures show the boxes where the loader's
// matrices put them, in the colours of their classes, the side ahead light and the one behind dark.
#include <ffkit/converter/convert.h>
#include <ffkit/loader/loader.h>
#include <ffkit/nuscenes/geometry.h>
#include <ffkit/nuscenes/loading.h>
#include <ffkit/sources/demo.h>

#include "sources/demo_nuscenes/scene.h"
#include "test_prelude.h"

namespace ffkit::nuscenes {
namespace {

constexpr int kDemoWidth = 320;
constexpr int kDemoHeight = 180;
constexpr size_t kNumCameras = 6;
constexpr int64_t kNumKeyframes = 36;  // two of a scene

struct Pixel {
  double x, y, depth;
};

// A rectangle of a picture.
struct Extent {
  double left = std::numeric_limits<double>::infinity();
  double top = left;
  double right = -left;
  double bottom = -left;

  void add(double x, double y) {
    left = std::min(left, x);
    right = std::max(right, x);
    top = std::min(top, y);
    bottom = std::max(bottom, y);
  }
  bool holds(double x, double y, double margin) const {
    return x >= left - margin && x <= right + margin && y >= top - margin && y <= bottom + margin;
  }
  bool meets(const Extent& other, double margin) const {
    return left - margin < other.right && other.left < right + margin &&
           top - margin < other.bottom && other.top < bottom + margin;
  }
};

// One camera's picture of a sample.
class View {
 public:
  View(const uint8_t* planes, const float* lidar_to_image)
      : planes_(planes), matrix_(lidar_to_image) {}

  Pixel project(const Vector3& point) const {
    std::array<double, 3> sum{};
    for (size_t row = 0; row < 3; ++row) {
      for (size_t i = 0; i < 3; ++i) sum[row] += double(matrix_[4 * row + i]) * point[i];
      sum[row] += double(matrix_[4 * row + 3]);
    }
    return {sum[0] / sum[2], sum[1] / sum[2], sum[2]};
  }
  // Of a box all of which is before the camera; else nothing.
  Extent extent_of(const Box& box) const {
    Extent extent;
    for (const Vector3& corner : corners(box)) {
      const Pixel at = project(corner);
      if (at.depth < 0.5) return {};
      extent.add(at.x, at.y);
    }
    return extent;
  }
  bool reaches_ahead(const Box& box) const {
    return std::ranges::any_of(corners(box),
                               [this](const Vector3& corner) { return project(corner).depth > 0; });
  }
  demo::Colour colour_at(double x, double y) const {
    const size_t at = size_t(y) * kDemoWidth + size_t(x);
    constexpr size_t kPlane = size_t{kDemoWidth} * kDemoHeight;
    return {double(planes_[at]), double(planes_[kPlane + at]), double(planes_[2 * kPlane + at])};
  }
  static bool is_inside(const Pixel& at) {
    return at.depth > 0.5 && at.x >= 0 && at.x < kDemoWidth && at.y >= 0 && at.y < kDemoHeight;
  }

 private:
  const uint8_t* planes_;
  const float* matrix_;
};

double sum_of(const demo::Colour& colour) {
  return colour[0] + colour[1] + colour[2];
}

// The kind whose colour is like this one, however light falls on it; -1 for none.
int kind_of_colour(const demo::Colour& colour) {
  constexpr double kAlike = 0.12;
  int nearest = -1;
  double smallest = kAlike;
  for (size_t kind = 0; kind < demo::object_kinds().size(); ++kind) {
    const demo::Colour& paint = demo::object_kinds()[kind].colour;
    double distance = 0;
    for (size_t i = 0; i < 3; ++i) {
      distance += std::abs(colour[i] / (sum_of(colour) + 1) - paint[i] / sum_of(paint));
    }
    if (distance < smallest) {
      smallest = distance;
      nearest = static_cast<int>(kind);
    }
  }
  return nearest;
}

class DemoNuScenesPictures : public ::testing::Test {
 protected:
  struct Keyframe {
    std::vector<View> views;
    std::vector<Box> boxes;  // in the lidar's frame
    std::vector<int> kinds;
  };

  void SetUp() override {
    convert(
        *make_demo_nuscenes(
            {.num_train_scenes = kNumKeyframes / 2, .num_val_scenes = 0, .num_keyframes = 2}, {}),
        dir_ / "data", {});
    const Split split = open_split(dir_ / "data", "train");
    KeyframeOptions fields;
    fields.cameras.image.transform =
        ResizeCrop{.size = {kDemoHeight, kDemoWidth}, .factor_min = 1, .factor_max = 1};
    fields.cameras.image.output = {.dtype = DType::u8, .normalize = false};
    fields.lidar.is_on = false;
    fields.boxes.only_valid = false;
    LoaderOptions options{.batch_size = kNumKeyframes, .image_field = "", .label_field = ""};
    options.sampler = {.order = Order::sequential, .tail = Tail::exact};
    options.fields = keyframe_fields(split, fields);
    loader_ = std::make_unique<Loader>(split.keyframes, options);
    batch_ = loader_->next();
    ASSERT_EQ(batch_->field("boxes").shape[1], 9);
    for (size_t i = 0; i < kNumKeyframes; ++i) keyframes_.push_back(keyframe_of(*batch_, i));
  }

  static Keyframe keyframe_of(const Batch& batch, size_t number) {
    Keyframe keyframe;
    constexpr size_t kPictureBytes = size_t{3} * kDemoWidth * kDemoHeight;
    const auto* images = static_cast<const uint8_t*>(batch.field("images").data);
    const auto* matrices = static_cast<const float*>(batch.field("lidar_to_image").data);
    for (size_t i = number * kNumCameras; i < (number + 1) * kNumCameras; ++i) {
      keyframe.views.emplace_back(images + i * kPictureBytes, matrices + 16 * i);
    }
    const auto* boxes = static_cast<const float*>(batch.field("boxes").data);
    const auto* classes = static_cast<const int64_t*>(batch.field("box_classes").data);
    const auto rows = batch.row_offsets("boxes");
    for (int64_t row = rows[number]; row < rows[number + 1]; ++row) {
      const float* b = boxes + 9 * row;
      keyframe.boxes.push_back({.center = {b[0], b[1], b[2]},
                                .size = {b[4], b[3], b[5]},
                                .rotation = {std::cos(b[6] / 2), 0, 0, std::sin(b[6] / 2)}});
      const auto& kinds = demo::object_kinds();
      const auto kind = std::ranges::find_if(kinds, [&](const demo::ObjectKind& of) {
        return class_of_category(of.category) == classes[row];
      });
      keyframe.kinds.push_back(static_cast<int>(kind - kinds.begin()));
    }
    return keyframe;
  }

  // Calls use(view, extent, number of the box) for each box and each picture that shows it without
  // another one before or behind it.
  template <typename Use>
  void for_boxes_alone(const Use& use) const {
    for (const Keyframe& keyframe : keyframes_) {
      for (const View& view : keyframe.views) {
        for (size_t i = 0; i < keyframe.boxes.size(); ++i) {
          const Extent extent = view.extent_of(keyframe.boxes[i]);
          if (extent.right < extent.left) continue;
          bool is_alone = true;
          for (size_t k = 0; k < keyframe.boxes.size(); ++k) {
            constexpr double kMargin = 8;
            if (k == i) continue;
            const Extent other = view.extent_of(keyframe.boxes[k]);
            is_alone = is_alone && !other.meets(extent, kMargin);
            // One that reaches behind the camera may be anywhere.
            if (other.right < other.left && view.reaches_ahead(keyframe.boxes[k])) is_alone = false;
          }
          if (is_alone) use(keyframe, view, extent, i);
        }
      }
    }
  }

  testing::TempDir dir_;
  std::unique_ptr<Loader> loader_;
  std::optional<Batch> batch_;
  std::vector<Keyframe> keyframes_;
};

TEST_F(DemoNuScenesPictures, TheMiddleOfABoxHasTheColourOfItsClass) {
  int num_boxes = 0;
  std::array<int, 7> num_of_kind{};
  for_boxes_alone([&](const Keyframe& keyframe, const View& view, const Extent& extent, size_t i) {
    const Pixel at = view.project(keyframe.boxes[i].center);
    if (!View::is_inside(at) || at.depth > 20 || extent.right - extent.left < 8) return;
    ++num_boxes;
    ++num_of_kind.at(static_cast<size_t>(keyframe.kinds[i]));
    EXPECT_EQ(kind_of_colour(view.colour_at(at.x, at.y)), keyframe.kinds[i])
        << "at " << at.x << ", " << at.y << ", " << at.depth << " m away";
  });
  EXPECT_GT(num_boxes, 50);
  for (const int count : num_of_kind) EXPECT_GT(count, 0);
}

// The painted pixels reach as far as the corners do, on all four sides.
TEST_F(DemoNuScenesPictures, VehiclesAreAsLargeAsTheirBoxes) {
  int num_boxes = 0;
  for_boxes_alone([&](const Keyframe& keyframe, const View& view, const Extent& extent, size_t i) {
    constexpr double kRoom = 6;
    // A box leans with the lidar by a degree; colours are stored at half the resolution.
    constexpr double kTolerance = 3.5;
    if (keyframe.kinds[i] > 2 || view.project(keyframe.boxes[i].center).depth > 25) return;
    if (extent.left < kRoom || extent.right > kDemoWidth - kRoom || extent.top < kRoom ||
        extent.bottom > kDemoHeight - kRoom) {
      return;
    }
    Extent painted;
    for (double y = std::floor(extent.top - kRoom); y < extent.bottom + kRoom; ++y) {
      for (double x = std::floor(extent.left - kRoom); x < extent.right + kRoom; ++x) {
        if (kind_of_colour(view.colour_at(x, y)) != keyframe.kinds[i]) continue;
        painted.add(x, y);
        painted.add(x + 1, y + 1);
      }
    }
    ++num_boxes;
    EXPECT_NEAR(painted.left, extent.left, kTolerance);
    EXPECT_NEAR(painted.right, extent.right, kTolerance);
    EXPECT_NEAR(painted.top, extent.top, kTolerance);
    EXPECT_NEAR(painted.bottom, extent.bottom, kTolerance);
  });
  EXPECT_GT(num_boxes, 12);
}

TEST_F(DemoNuScenesPictures, TheSideAheadIsLightAndTheOneBehindIsDark) {
  std::array<int, 2> num_seen{};
  for_boxes_alone([&](const Keyframe& keyframe, const View& view, const Extent&, size_t i) {
    if (keyframe.kinds[i] > 2) return;
    const Box& box = keyframe.boxes[i];
    const double yaw = yaw_of(box.rotation);
    for (const double side : {1.0, -1.0}) {
      // A quarter below the middle of the side; it is seen when it is nearer than the middle of the
      // box.
      const double half = side * box.size[1] / 2;
      const Pixel at =
          view.project({box.center[0] + half * std::cos(yaw), box.center[1] + half * std::sin(yaw),
                        box.center[2] - 0.05 * box.size[2]});
      const Pixel middle = view.project(box.center);
      if (!View::is_inside(at) || at.depth > 18) continue;
      if (middle.depth - at.depth < 0.25 * box.size[1]) continue;  // looked at aslant
      ++num_seen.at(side > 0 ? 0 : 1);
      const double light = sum_of(view.colour_at(at.x, at.y)) /
                           sum_of(demo::object_kinds()[size_t(keyframe.kinds[i])].colour);
      EXPECT_EQ(light > 0.78, side > 0) << light << " at " << at.x << ", " << at.y;
    }
  });
  EXPECT_GT(num_seen[0], 1);
  EXPECT_GT(num_seen[1], 1);
}

TEST_F(DemoNuScenesPictures, CanBusPosesAreThoseOfTheVehicle) {
  const Split split = open_split(dir_ / "data", "train");
  KeyframeOptions fields;
  fields.cameras.channels = {};
  fields.lidar.is_on = false;
  fields.can_bus = CanBusRule::last_row;
  LoaderOptions options{.batch_size = 2, .image_field = "", .label_field = ""};
  options.sampler = {.order = Order::sequential, .tail = Tail::exact};
  options.fields = keyframe_fields(split, fields);
  Loader loader(split.keyframes, options);
  const auto batch = loader.next();
  for (size_t i = 0; i < 2; ++i) {
    const auto* row = static_cast<const double*>(batch->field("can_bus").data) + 18 * i;
    const auto* lidar = static_cast<const double*>(batch->field("lidar_to_global").data) + 16 * i;
    const double speed = row[13];
    EXPECT_GT(speed, 1);
    // The lidar is 0.94 m ahead; the last message is up to 20 ms old.
    EXPECT_NEAR(std::hypot(row[0] - lidar[3], row[1] - lidar[7]), 0.94 + 0.01 * speed,
                0.011 * speed + 0.05);
    EXPECT_NEAR(row[3] * row[3] + row[4] * row[4] + row[5] * row[5] + row[6] * row[6], 1, 1e-12);
  }
}

}  // namespace
}  // namespace ffkit::nuscenes
