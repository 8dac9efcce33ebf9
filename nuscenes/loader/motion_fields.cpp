#include <array>
#include <cstring>
#include <numbers>

#include <ffkit/nuscenes/record.h>

#include "field_decoders.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

constexpr size_t kMotionNumbers = 18;
constexpr size_t kYawRadians = 16;
constexpr size_t kYawDegrees = 17;

class MotionDecoder final : public FieldDecoder {
 public:
  // Without `can_bus`, what comes from it is 0.
  MotionDecoder(const Schema& schema, std::shared_ptr<const FieldDecoder> can_bus)
      : can_bus_(std::move(can_bus)), lidar_(schema, std::string(kLidar)) {}
  DType dtype() const override { return DType::f64; }
  std::vector<int64_t> shape() const override { return {kMotionNumbers}; }
  std::unique_ptr<Scratch> make_scratch() const override {
    return can_bus_ ? can_bus_->make_scratch() : nullptr;
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    std::array<double, kMotionNumbers> numbers{};
    if (can_bus_) can_bus_->decode(record, key, scratch, numbers.data());
    const Pose ego = read_pose(record.field(lidar_.ego_to_global));
    const Quaternion& q = ego.rotation;
    std::memcpy(numbers.data(), ego.translation.data(), sizeof(ego.translation));
    const std::array rotation = {q.w, q.x, q.y, q.z};
    std::memcpy(&numbers[3], rotation.data(), sizeof(rotation));
    // In the order of get_data_info(), so that the last bits are its own.
    double degrees = yaw_of(q) / std::numbers::pi * 180;
    if (degrees < 0) degrees += 360;
    numbers[kYawRadians] = degrees / 180 * std::numbers::pi;
    numbers[kYawDegrees] = degrees;
    std::memcpy(out, numbers.data(), sizeof(numbers));
  }

 private:
  std::shared_ptr<const FieldDecoder> can_bus_;
  SensorFields lidar_;
};

// The place of a keyframe in its scene: one more than that of the keyframe before.
class FrameIndexDecoder final : public FieldDecoder {
 public:
  explicit FrameIndexDecoder(const Dataset& keyframes)
      : prev_(keyframes.schema().require(keyframe::kPrev)) {
    const std::vector<std::string> scenes = keyframes.string_column(keyframe::kScene);
    places_.resize(scenes.size(), 0);
    for (size_t i = 1; i < scenes.size(); ++i) {
      if (scenes[i] == scenes[i - 1]) places_[i] = places_[i - 1] + 1;
    }
  }
  DType dtype() const override { return DType::i64; }
  std::vector<int64_t> shape() const override { return {}; }

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const auto prev = record.scalar<int64_t>(prev_);
    if (prev >= std::ssize(places_)) {
      throw Error(ErrorCode::corrupt, "the keyframe before is behind the end of the split");
    }
    const int64_t place = prev < 0 ? 0 : places_[prev] + 1;
    std::memcpy(out, &place, sizeof(place));
  }

 private:
  size_t prev_;
  std::vector<int64_t> places_;
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_motion(const Dataset& keyframes, CanBusRule rule) {
  const Schema& schema = keyframes.schema();
  const bool has_can_bus = rule != CanBusRule::none && schema.index_of(can_bus_field("pose")) >= 0;
  return std::make_shared<MotionDecoder>(schema,
                                         has_can_bus ? decode_can_bus(keyframes, rule) : nullptr);
}

void add_identity_fields(const Dataset& keyframes, std::vector<BatchField>& fields) {
  const Schema& schema = keyframes.schema();
  fields.push_back({"sample_token", copy_string(schema, keyframe::kToken)});
  fields.push_back({"scene_token", copy_string(schema, keyframe::kSceneToken)});
  fields.push_back({"frame_index", std::make_shared<FrameIndexDecoder>(keyframes)});
}

}  // namespace ffkit::nuscenes
