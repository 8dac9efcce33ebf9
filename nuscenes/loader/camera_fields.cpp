#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <variant>

#include <ffkit/base/error.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "base/mix64.h"
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

// nuScenes' pictures; the intrinsics stored beside a picture without a file are for that size.
constexpr int kStoredWidth = 1600;
constexpr int kStoredHeight = 900;

// `images`, with allow_missing zeros where there is none. The frames of a window have one key, by
// which their pictures are cropped alike. ScalePad draws no crop, so there each frame draws for
// itself.
class CameraImages final : public PartsDecoder {
 public:
  CameraImages(const Schema& schema, const std::vector<std::string>& fields,
               const KeyframeOptions& options)
      : images_(decode_images(schema, fields, options.cameras.image)),
        parts_(dynamic_cast<const PartsDecoder&>(*images_)),
        timestamp_(schema.require(keyframe::kTimestamp)),
        allow_missing_(options.allow_missing),
        draws_alone_(std::holds_alternative<ScalePad>(options.cameras.image.transform)) {
    for (const std::string& field : fields) fields_.push_back(schema.require(field));
    bytes_per_image_ = size_of(dtype());
    const std::vector<int64_t> all = shape();
    for (size_t i = 1; i < all.size(); ++i) bytes_per_image_ *= static_cast<size_t>(all[i]);
  }
  DType dtype() const override { return images_->dtype(); }
  std::vector<int64_t> shape() const override { return images_->shape(); }
  std::optional<std::vector<size_t>> inputs() const override {
    std::vector<size_t> fields = fields_;
    fields.push_back(timestamp_);
    return fields;
  }
  std::unique_ptr<Scratch> make_scratch() const override { return images_->make_scratch(); }
  int64_t num_parts() const override { return parts_.num_parts(); }
  void decode_part(const RecordView& record, const SampleKey& key, int64_t part, Scratch* scratch,
                   void* out) const override {
    const auto image = static_cast<size_t>(part);
    if (allow_missing_ && record.is_null(fields_[image])) {
      std::memset(static_cast<std::byte*>(out) + image * bytes_per_image_, 0, bytes_per_image_);
    } else {
      parts_.decode_part(record, draws_alone_ ? frame_key(record, key) : key, part, scratch, out);
    }
  }

 private:
  SampleKey frame_key(const RecordView& record, const SampleKey& key) const {
    const auto time = static_cast<uint64_t>(record.field(timestamp_).scalar<int64_t>());
    return {mix64(key.seed, time), key.epoch, key.record_index};
  }

  std::shared_ptr<const FieldDecoder> images_;
  const PartsDecoder& parts_;
  size_t timestamp_;
  bool allow_missing_;
  bool draws_alone_;
  std::vector<size_t> fields_;
  size_t bytes_per_image_ = 0;
};

enum class Matrices { intrinsics, lidar_to_camera, lidar_to_image };

// One of the matrices of all cameras.
class CameraMatrices final : public FieldDecoder {
 public:
  CameraMatrices(const Schema& schema, const KeyframeOptions& options, Matrices which)
      : which_(which),
        transform_(options.cameras.image.transform),
        bev_(options.bev),
        allow_missing_(options.allow_missing),
        lidar_(schema, std::string(kLidar)) {
    for (const std::string& name : options.cameras.channels) cameras_.emplace_back(schema, name);
  }
  DType dtype() const override { return DType::f32; }
  std::vector<int64_t> shape() const override {
    const int64_t side = which_ == Matrices::intrinsics ? 3 : 4;
    return {std::ssize(cameras_), side, side};
  }
  std::optional<std::vector<size_t>> inputs() const override {
    std::vector<size_t> fields;
    lidar_.add_to(fields);
    for (const Camera& camera : cameras_) {
      camera.sensor.add_to(fields);
      if (which_ == Matrices::lidar_to_camera) continue;
      fields.insert(fields.end(), {camera.intrinsics, camera.image});
    }
    return fields;
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
    ImageInfo info;
    if (allow_missing_ && record.is_null(camera.image)) {
      info.width = kStoredWidth;
      info.height = kStoredHeight;
    } else {
      info = read_image_info(record.bytes(camera.image));
    }
    const ImageMap map = map_of(info, key);
    return multiply(Matrix3{map.scale_x, 0, map.offset_x, 0, map.scale_y, map.offset_y, 0, 0, 1},
                    stored);
  }

  ImageMap map_of(const ImageInfo& info, const SampleKey& key) const {
    if (const auto* pad = std::get_if<ScalePad>(&transform_)) return image_map(*pad);
    return image_map(std::get<ResizeCrop>(transform_), info.width, info.height, key);
  }

  Matrices which_;
  ImageTransform transform_;  // a ResizeCrop or a ScalePad
  BevAugmentation bev_;
  bool allow_missing_;
  SensorFields lidar_;
  std::vector<Camera> cameras_;
};

class LidarToGlobal final : public FieldDecoder {
 public:
  LidarToGlobal(const Schema& schema, const BevAugmentation& bev)
      : bev_(bev), lidar_(schema, std::string(kLidar)) {}
  DType dtype() const override { return DType::f64; }
  std::vector<int64_t> shape() const override { return {4, 4}; }
  std::optional<std::vector<size_t>> inputs() const override {
    std::vector<size_t> fields;
    lidar_.add_to(fields);
    return fields;
  }
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
  const ImageTransform& transform = options.cameras.image.transform;
  if (!std::holds_alternative<ResizeCrop>(transform) &&
      !std::holds_alternative<ScalePad>(transform)) {
    throw Error(ErrorCode::invalid_argument,
                "the transform of the cameras must be a ResizeCrop or a ScalePad; other transforms "
                "do not give intrinsics");
  }
  std::vector<std::string> images;
  for (const std::string& name : options.cameras.channels) {
    images.push_back(channel_field(name, channel::kImage));
  }
  fields.push_back({"images", std::make_shared<CameraImages>(schema, images, options)});
  if (options.allow_missing) fields.push_back({"camera_valid", decode_valid(schema, images)});
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

namespace {

// Boxes, or their classes: both choose alike.
class BoxDecoder final : public RowsDecoder {
 public:
  BoxDecoder(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
             bool is_classes)
      : options_(options),
        bev_(bev),
        is_classes_(is_classes),
        boxes_(schema.require(keyframe::kBoxLidar)),
        classes_(schema.require(keyframe::kBoxClass)),
        valid_(schema.require(keyframe::kBoxValid)) {}
  DType dtype() const override { return is_classes_ ? DType::i64 : DType::f32; }
  std::vector<int64_t> shape() const override {
    if (is_classes_) return {};
    return {std::tuple_size_v<StoredBoxes::Numbers>};
  }
  int64_t max_rows() const override { return options_.max_boxes; }
  RowLayout layout() const override { return options_.layout; }
  std::optional<std::vector<size_t>> inputs() const override {
    return {{boxes_, classes_, valid_}};
  }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Scratch>(); }

  int64_t decode_rows(const RecordView& record, const SampleKey& key, Scratch* scratch,
                      void* out) const override {
    const StoredBoxes stored(record.field(classes_), record.field(valid_), record.field(boxes_));
    const DrawnBev drawn = draw(bev_, key);
    auto* to = static_cast<std::byte*>(out);
    int64_t num_rows = 0;
    for (int64_t i = 0; i < stored.size(); ++i) {
      if (!stored.is_box(i)) {
        if (is_classes_) continue;
        ++scratch->work.num_items_left_out;
        scratch->work.left_out = fmt::format("box {} of field '{}' has no size, place or direction",
                                             i, keyframe::kBoxLidar);
        continue;
      }
      if (!stored.passes(i, options_)) continue;
      StoredBoxes::Numbers box = drawn(stored.numbers(i));
      if (!is_in_range(box, options_)) continue;
      if (num_rows == options_.max_boxes) {
        throw error_of(
            ErrorCode::unsupported,
            "a keyframe has more than {} boxes; set a larger max_boxes in the BoxOptions",
            options_.max_boxes);
      }
      ++num_rows;
      if (is_classes_) {
        const int64_t class_number = stored.class_number(i);
        std::memcpy(to, &class_number, sizeof(class_number));
        to += sizeof(class_number);
        continue;
      }
      if (options_.zero_unknown_velocity && std::isnan(box[7] + box[8])) box[7] = box[8] = 0;
      std::memcpy(to, box.data(), sizeof(box));
      to += sizeof(box);
    }
    return num_rows;
  }

 private:
  BoxOptions options_;
  BevAugmentation bev_;
  bool is_classes_;
  size_t boxes_;
  size_t classes_;
  size_t valid_;
};

}  // namespace

void add_box_fields(const Schema& schema, const BoxOptions& options, const BevAugmentation& bev,
                    std::vector<BatchField>& fields) {
  if (!options.is_on) return;
  validate(options);
  fields.push_back({"boxes", std::make_shared<BoxDecoder>(schema, options, bev, false)});
  fields.push_back({"box_classes", std::make_shared<BoxDecoder>(schema, options, bev, true)});
}

}  // namespace ffkit::nuscenes
