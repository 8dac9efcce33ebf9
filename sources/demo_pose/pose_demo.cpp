// Made-up people before a known camera, one in each picture.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/pose/geometry.h>
#include <ffkit/pose/person_record.h>
#include <ffkit/sources/demo.h>

#include "base/make_error.h"
#include "converter/input/sample_arrays.h"
#include "demo/demo_parts.h"
#include "persons/person_values.h"

namespace ffkit {
namespace {

// Articulated figures before a made-up camera: what --kind pose paints.

inline constexpr size_t kFigureJoints = 17;  // MuPoTS' joints

inline constexpr size_t kFigureRoot = 14;  // the pelvis

struct Figure {
  pose::Camera camera;
  // Before the camera, mm: x to the right, y down, z away from it.
  std::array<pose::Point3, kFigureJoints> joints = {};
  pose::Box box;  // of what is painted, within the picture, pixels
};

using pose::Point3;

enum Joint : uint8_t {
  kHeadTop,
  kThorax,
  kRightShoulder,
  kRightElbow,
  kRightWrist,
  kLeftShoulder,
  kLeftElbow,
  kLeftWrist,
  kRightHip,
  kRightKnee,
  kRightAnkle,
  kLeftHip,
  kLeftKnee,
  kLeftAnkle,
  kPelvis,
  kSpine,
  kHead
};

struct Limb {
  Joint from, to;
  double radius;  // mm
  std::array<uint8_t, 3> color;
};
constexpr std::array<Limb, 15> kLimbs = {{{kPelvis, kSpine, 130, {60, 90, 200}},
                                          {kSpine, kThorax, 150, {70, 100, 220}},
                                          {kThorax, kHead, 60, {220, 170, 140}},
                                          {kHead, kHeadTop, 95, {230, 180, 150}},
                                          {kThorax, kRightShoulder, 70, {70, 100, 220}},
                                          {kThorax, kLeftShoulder, 70, {70, 100, 220}},
                                          {kRightShoulder, kRightElbow, 50, {220, 60, 60}},
                                          {kRightElbow, kRightWrist, 42, {240, 120, 100}},
                                          {kLeftShoulder, kLeftElbow, 50, {40, 170, 70}},
                                          {kLeftElbow, kLeftWrist, 42, {110, 220, 120}},
                                          {kRightHip, kRightKnee, 80, {150, 40, 40}},
                                          {kRightKnee, kRightAnkle, 60, {190, 80, 60}},
                                          {kLeftHip, kLeftKnee, 80, {20, 110, 50}},
                                          {kLeftKnee, kLeftAnkle, 60, {60, 150, 80}},
                                          {kRightHip, kLeftHip, 90, {50, 70, 160}}}};

// A bone that hangs down, swung forward and to the side, radians.
Point3 bone(double length, double forward, double aside) {
  return {length * std::sin(aside), length * std::cos(aside) * std::cos(forward),
          -length * std::cos(aside) * std::sin(forward)};
}

Point3 plus(const Point3& a, const Point3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

// A pose about the pelvis, facing the camera.
std::array<Point3, kFigureJoints> draw_pose(SplitMix& random) {
  std::array<Point3, kFigureJoints> j{};
  const double lean = random.uniform(-0.2, 0.3), tilt = random.uniform(-0.15, 0.15);
  const auto up = [&](const Point3& from, double length) {
    const Point3 down = bone(length, -lean, tilt);
    return Point3{from[0] - down[0], from[1] - down[1], from[2] - down[2]};
  };
  j[kSpine] = up(j[kPelvis], 250);
  j[kThorax] = up(j[kSpine], 260);
  j[kHead] = up(j[kThorax], 140);
  j[kHeadTop] = up(j[kHead], 150);
  for (const int side : {-1, 1}) {
    const Joint hip = side < 0 ? kRightHip : kLeftHip;
    const Joint shoulder = side < 0 ? kRightShoulder : kLeftShoulder;
    j[hip] = {side * 110.0, 40, 0};
    const double step = random.uniform(-0.6, 0.7), spread = side * random.uniform(-0.05, 0.35);
    j[hip + 1] = plus(j[hip], bone(430, step, spread));
    j[hip + 2] = plus(j[hip + 1], bone(420, step - random.uniform(0, 0.8), spread));
    j[shoulder] = plus(j[kThorax], {side * 190.0, 20, 0});
    const double swing = random.uniform(-0.7, 1.8), raise = side * random.uniform(0.05, 1.4);
    j[shoulder + 1] = plus(j[shoulder], bone(300, swing, raise));
    j[shoulder + 2] = plus(j[shoulder + 1], bone(260, swing + random.uniform(0, 1.2), raise));
  }
  return j;
}

double distance_to_segment(double x, double y, const Point3& a, const Point3& b, double& along) {
  const double dx = b[0] - a[0], dy = b[1] - a[1];
  const double length = dx * dx + dy * dy;
  along = length > 0 ? std::clamp(((x - a[0]) * dx + (y - a[1]) * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(x - a[0] - along * dx, y - a[1] - along * dy);
}

// A person of 1.5 to 1.9 m, 2.5 to 7 m away, in a pose of its own, of which the pelvis is in a
// picture of size x size pixels.
Figure draw_figure(int64_t size, SplitMix& random) {
  Figure figure;
  const auto side = static_cast<double>(size);
  const double focal = side * random.uniform(1.1, 1.3);
  figure.camera = {{focal, focal}, {side / 2, side / 2}};
  const double depth = random.uniform(2500, 7000);
  const Point3 root = pose::pixel_to_camera(
      {side * random.uniform(0.3, 0.7), side * random.uniform(0.4, 0.6), depth}, figure.camera);
  const double height = random.uniform(0.92, 1.08), yaw = random.uniform(-1.2, 1.2);
  const std::array<Point3, kFigureJoints> about_root = draw_pose(random);
  for (size_t i = 0; i < kFigureJoints; ++i) {
    const Point3& p = about_root[i];
    figure.joints[i] =
        plus(root, {height * (p[0] * std::cos(yaw) + p[2] * std::sin(yaw)), height * p[1],
                    height * (p[2] * std::cos(yaw) - p[0] * std::sin(yaw))});
  }
  double left = side, top = side, right = 0, bottom = 0;
  for (const Limb& limb : kLimbs) {
    for (const Joint joint : {limb.from, limb.to}) {
      const Point3 at = pose::camera_to_pixel(figure.joints[joint], figure.camera);
      const double radius = limb.radius * focal / at[2];
      left = std::min(left, at[0] - radius);
      right = std::max(right, at[0] + radius);
      top = std::min(top, at[1] - radius);
      bottom = std::max(bottom, at[1] + radius);
    }
  }
  left = std::max(left, 0.0);
  top = std::max(top, 0.0);
  figure.box = {left, top, std::min(right, side - 1) - left + 1,
                std::min(bottom, side - 1) - top + 1};
  return figure;
}

// [size, size, 3] RGB, before a background that tells nothing of the person.
std::vector<uint8_t> paint_figure(const Figure& figure, int64_t size, SplitMix& random) {
  const auto side = static_cast<size_t>(size);
  std::vector<uint8_t> pixels(3 * side * side);
  std::array<std::array<double, 3>, 4> corners{};
  for (auto& corner : corners) {
    for (double& value : corner) value = random.uniform(60, 220);
  }
  for (size_t y = 0; y < side; ++y) {
    for (size_t x = 0; x < side; ++x) {
      const double u = double(x) / double(side), v = double(y) / double(side);
      const double noise = random.uniform(-12, 12);
      for (size_t c = 0; c < 3; ++c) {
        const double value = (1 - v) * ((1 - u) * corners[0][c] + u * corners[1][c]) +
                             v * ((1 - u) * corners[2][c] + u * corners[3][c]) + noise;
        pixels[3 * (y * side + x) + c] = static_cast<uint8_t>(value);
      }
    }
  }
  // From back to front.
  std::array<size_t, kLimbs.size()> order{};
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, std::greater{}, [&](size_t i) {
    return figure.joints[kLimbs[i].from][2] + figure.joints[kLimbs[i].to][2];
  });
  for (const size_t i : order) {
    const Limb& limb = kLimbs[i];
    const Point3 a = pose::camera_to_pixel(figure.joints[limb.from], figure.camera);
    const Point3 b = pose::camera_to_pixel(figure.joints[limb.to], figure.camera);
    const double at_a = limb.radius * figure.camera.focal[0] / a[2];
    const double at_b = limb.radius * figure.camera.focal[0] / b[2];
    const double most = std::max(at_a, at_b) + 1;
    const auto limit = static_cast<double>(size - 1);
    const auto first_x = static_cast<int64_t>(std::clamp(std::min(a[0], b[0]) - most, 0.0, limit));
    const auto last_x = static_cast<int64_t>(std::clamp(std::max(a[0], b[0]) + most, 0.0, limit));
    const auto first_y = static_cast<int64_t>(std::clamp(std::min(a[1], b[1]) - most, 0.0, limit));
    const auto last_y = static_cast<int64_t>(std::clamp(std::max(a[1], b[1]) + most, 0.0, limit));
    for (int64_t y = first_y; y <= last_y; ++y) {
      for (int64_t x = first_x; x <= last_x; ++x) {
        double along = 0;
        const double distance = distance_to_segment(double(x), double(y), a, b, along);
        const double radius = at_a + along * (at_b - at_a);
        const double share = std::clamp(radius - distance + 0.5, 0.0, 1.0);
        if (share <= 0) continue;
        // Darker at the edges, so that limbs before each other can be told apart.
        const double light = 1 - 0.35 * std::min(1.0, distance / std::max(radius, 1e-6));
        for (size_t c = 0; c < 3; ++c) {
          uint8_t& value = pixels[3 * (static_cast<size_t>(y) * side + static_cast<size_t>(x)) + c];
          value = static_cast<uint8_t>((1 - share) * value + share * light * limb.color[c]);
        }
      }
    }
  }
  return pixels;
}

class DemoPose : public DemoPictures {
 public:
  DemoPose(const DemoPoseOptions& options, uint64_t seed) : DemoPictures(options, seed) {
    if (size_ < 32 || size_ > 2048) {
      throw error_of(ErrorCode::invalid_argument, "demo: the size is {}; it must be 32 to 2048",
                     size_);
    }
  }

  Schema schema() const override { return person_schema(); }

  std::map<std::string, std::string> facts(size_t split) const override {
    std::map<std::string, std::string> facts = DemoPictures::facts(split);
    facts[pose::kSetFact] = "demo";
    facts[pose::kValidRootsFact] = std::to_string(infos_.at(split).num_samples);
    return facts;
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    SplitMix drawn = random(split, index);
    const Figure figure = draw_figure(size_, drawn);
    const auto side = static_cast<double>(size_);
    const auto box = pose::person_box(figure.box, side, side);
    const std::span<std::byte> image = encode(paint_figure(figure, size_, drawn), buffers);
    const ImageStorer::Stored stored = storer_.store(image, id(index), buffers);
    if (stored.size != stored.original) {
      throw Error(ErrorCode::invalid_argument,
                  "pictures of persons are not resized, because boxes and joints would not fit; "
                  "give a smaller " +
                      option_name("size") + " instead");
    }
    std::array<float, 3 * kFigureJoints> joints{};
    for (size_t i = 0; i < kFigureJoints; ++i) {
      const pose::Point3 at = pose::camera_to_pixel(figure.joints[i], figure.camera);
      const bool is_inside = at[0] >= 0 && at[0] < side && at[1] >= 0 && at[1] < side;
      joints[3 * i] = static_cast<float>(at[0]);
      joints[3 * i + 1] = static_cast<float>(at[1]);
      joints[3 * i + 2] = is_inside ? 1.0F : 0.0F;
    }
    const pose::Point3& root = figure.joints[kFigureRoot];
    // Copied, since the record points to them until it is encoded.
    set_person({.image = stored.bytes,
                .image_id = index,
                .annotation_id = index,
                .width = size_,
                .height = size_,
                .box = box.value(),
                .annotated = figure.box,
                .camera = figure.camera,
                .root_image = pose::camera_to_pixel(root, figure.camera),
                .root_camera = root,
                .visible = 1,
                .has_depth = true,
                .joints = array_copy<float>(buffers, joints),
                .picture_roots = array_copy<double>(buffers, root),
                .id = id(index)},
               record, buffers);
  }

 private:
  std::string id(int64_t index) const override { return fmt::format("{:08}.jpg#{}", index, index); }
};

class PosePart final : public DemoPartOptions {
 public:
  void check(const OptionTable& table, const std::string& why,
             const DemoOptions& /*pictures*/) const override {
    table.refuse({"classes"}, why);
  }

  std::unique_ptr<Source> open(const SourceArguments& arguments,
                               const DemoOptions& pictures) const override {
    return make_demo_pose({.num_train = pictures.num_train,
                           .num_val = pictures.num_val,
                           .size = pictures.size != 0 ? pictures.size : DemoPoseOptions().size,
                           .images = arguments.images},
                          arguments.conversion);
  }
};

}  // namespace

std::unique_ptr<Source> make_demo_pose(const DemoPoseOptions& options,
                                       const ConvertOptions& conversion) {
  return std::make_unique<DemoPose>(options, conversion.seed);
}

DemoPart pose_demo() {
  return {.name = "pose",
          .what = "figures of people in front of a known camera, for RootNet",
          .options = make_demo_options<PosePart>};
}

}  // namespace ffkit
