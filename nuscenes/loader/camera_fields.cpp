#include <fmt/format.h>

#include <cstring>
#include <variant>

#include <ffkit/format/error.h>
#include <ffkit/format/image_codec.h>

#include "field_decoders.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

using Matrix4 = std::array<double, 16>;

Matrix4 to_matrix4(const Transform& t) {
  const Matrix3& r = t.rotation;
  return {r[0], r[1], r[2], t.translation[0], r[3], r[4], r[5], t.translation[1],
          r[6], r[7], r[8], t.translation[2], 0,    0,    0,    1};
}

struct Camera {
  Camera(const Schema& schema, const std::string& name)
      : sensor(schema, name),
        image(schema.require(channel_field(name, channel::kImage))),
        intrinsics(schema.require(channel_field(name, channel::kIntrinsics))) {}
  SensorFields sensor;
  size_t image;
  size_t intrinsics;
};

enum class Matrices { intrinsics, lidar_to_camera, lidar_to_image };

// One of the matrices of all cameras.
class CameraMatrices final : public FieldDecoder {
 public:
  CameraMatrices(const Schema& schema, const KeyframeOptions& options, Matrices which)
      : which_(which),
        crop_(std::get<ResizeCrop>(options.cameras.image.transform)),
        bev_(options.bev),
        lidar_(schema, std::string(kLidar)) {
    for (const std::string& name : options.cameras.channels) cameras_.emplace_back(schema, name);
  }
  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override {
    const int64_t side = which_ == Matrices::intrinsics ? 3 : 4;
    return {std::ssize(cameras_), side, side};
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch*, void* out) const override {
    auto* to = static_cast<float*>(out);
    const auto write = [&to](const auto& matrix) {
      for (const double value : matrix) *to++ = static_cast<float>(value);
    };
    const SensorState lidar = read_state(record, lidar_);
    const Transform back = draw(bev_, key).inverse_matrix();
    for (size_t i = 0; i < cameras_.size(); ++i) {
      const Camera& camera = cameras_[i];
      Matrix3 intrinsics{};
      if (which_ != Matrices::lidar_to_camera) {
        intrinsics = intrinsics_of_batch(record, camera, image_key(key, i));
      }
      if (which_ == Matrices::intrinsics) {
        write(intrinsics);
        continue;
      }
      const Transform to_camera = between(lidar, read_state(record, camera.sensor)) * back;
      if (which_ == Matrices::lidar_to_camera) {
        write(to_matrix4(to_camera));
      } else {
        write(to_matrix4({multiply(intrinsics, to_camera.rotation),
                          multiply(intrinsics, to_camera.translation)}));
      }
    }
  }

 private:
  // Of the pixels as they are in the batch.
  Matrix3 intrinsics_of_batch(const RecordView& record, const Camera& camera,
                              const SampleKey& key) const {
    const Matrix3 stored = read_numbers<9>(record.field(camera.intrinsics));
    const ImageInfo info = read_image_info(record.bytes(camera.image));
    const ImageMap map = image_map(crop_, info.width, info.height, key);
    return multiply(Matrix3{map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1},
                    stored);
  }

  Matrices which_;
  ResizeCrop crop_;
  BevAugmentation bev_;
  SensorFields lidar_;
  std::vector<Camera> cameras_;
};

class LidarToGlobal final : public FieldDecoder {
 public:
  LidarToGlobal(const Schema& schema, const BevAugmentation& bev)
      : bev_(bev), lidar_(schema, std::string(kLidar)) {}
  DType dtype() const override { return DType::f64; }
  std::vector<int64_t> shape() const override { return {4, 4}; }
  void decode(const RecordView& record, const SampleKey& key, Scratch*, void* out) const override {
    const SensorState lidar = read_state(record, lidar_);
    const Matrix4 matrix =
        to_matrix4(make_transform(lidar.ego_to_global) * make_transform(lidar.sensor_to_ego) *
                   draw(bev_, key).inverse_matrix());
    std::memcpy(out, matrix.data(), sizeof(matrix));
  }

 private:
  BevAugmentation bev_;
  SensorFields lidar_;
};

}  // namespace

void add_camera_fields(const Schema& schema, const KeyframeOptions& options,
                       std::vector<BatchField>& fields) {
  if (options.cameras.channels.empty()) return;
  if (!std::holds_alternative<ResizeCrop>(options.cameras.image.transform)) {
    throw Error(
        ErrorCode::invalid_argument,
        "the cameras' transform must be a ResizeCrop: only of that the intrinsics are known");
  }
  std::vector<std::string> images;
  for (const std::string& name : options.cameras.channels) {
    images.push_back(channel_field(name, channel::kImage));
  }
  fields.push_back({"images", decode_images(schema, images, options.cameras.image)});
  const auto add = [&](const char* name, Matrices which) {
    fields.push_back({name, std::make_shared<CameraMatrices>(schema, options, which)});
  };
  add("intrinsics", Matrices::intrinsics);
  add("lidar_to_camera", Matrices::lidar_to_camera);
  add("lidar_to_image", Matrices::lidar_to_image);
}

std::shared_ptr<const FieldDecoder> decode_lidar_to_global(const Schema& schema,
                                                           const BevAugmentation& bev) {
  return std::make_shared<LidarToGlobal>(schema, bev);
}

}  // namespace ffkit::nuscenes
