#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/nuscenes/record.h>

#include "base/make_error.h"
#include "record_reader.h"

namespace ffkit::nuscenes {
namespace {

constexpr size_t kNumbers = 18;
constexpr size_t kNumPose = 7;   // position and orientation
constexpr size_t kNumUsed = 16;  // the last two stay 0: BEVFormer puts angles there
constexpr const char* kMessage = "pose";
// In BEVFormer's order.
constexpr std::array<std::string_view, kNumUsed> kColumns = {
    "pos.0",           "pos.1",   "pos.2",   "orientation.0", "orientation.1",   "orientation.2",
    "orientation.3",   "accel.0", "accel.1", "accel.2",       "rotation_rate.0", "rotation_rate.1",
    "rotation_rate.2", "vel.0",   "vel.1",   "vel.2"};

class CanBusDecoder final : public FieldDecoder {
 public:
  CanBusDecoder(const Dataset& keyframes, CanBusRule rule)
      : keyframes_(keyframes),
        rule_(rule),
        rows_(keyframes.schema().require(can_bus_field(kMessage))),
        prev_(keyframes.schema().require(keyframe::kPrev)),
        next_(keyframes.schema().require(keyframe::kNext)) {
    const auto& facts = keyframes.manifest().source;
    const auto fact = facts.find(can_bus_field(kMessage));
    std::vector<std::string> names;
    std::istringstream columns(fact == facts.end() ? "" : fact->second);
    for (std::string name; std::getline(columns, name, ',');) names.push_back(name);
    num_columns_ = names.size();
    for (size_t i = 0; i < kNumUsed; ++i) {
      const auto found = std::find(names.begin(), names.end(), kColumns[i]);
      if (found == names.end()) {
        throw Error(ErrorCode::not_found,
                    fmt::format("its CAN bus poses have no column '{}'", kColumns[i]),
                    {.path = keyframes.path().string(),
                     .subject = ErrorSubject::field,
                     .name = can_bus_field(kMessage)});
      }
      columns_[i] = static_cast<size_t>(found - names.begin());
    }
  }
  DType dtype() const override { return DType::f64; }
  std::vector<int64_t> shape() const override { return {kNumbers}; }
  std::optional<std::vector<size_t>> inputs() const override { return {{rows_, prev_, next_}}; }
  std::unique_ptr<Scratch> make_scratch() const override { return std::make_unique<Memory>(); }

  void decode(const RecordView& record, const SampleKey&, Scratch* scratch,
              void* out) const override {
    auto& memory = static_cast<Memory&>(*scratch);
    std::array<double, kNumbers> numbers{};
    const std::vector<double> last = last_row(record, memory);
    if (!last.empty()) {
      std::vector<double> motion = last;
      if (rule_ == CanBusRule::bevformer_code) {
        std::vector<double> behind = first_row_behind(record, memory);
        if (!behind.empty()) motion = std::move(behind);
      }
      for (size_t i = 0; i < kNumUsed; ++i) {
        numbers[i] = (i < kNumPose ? last : motion)[columns_[i]];
      }
    }
    std::memcpy(out, numbers.data(), sizeof(numbers));
  }

 private:
  struct Memory final : Scratch {
    std::vector<std::byte> rows;
    std::vector<std::byte> number;
  };

  // Messages come 25 times between two keyframes; where some are lost, the last one is an earlier
  // keyframe's. Before a scene's first message, the first one counts, as in BEVFormer.
  std::vector<double> last_row(const RecordView& record, Memory& memory) const {
    std::vector<double> row = pick(record.field(rows_), true);
    if (row.empty()) row = nearest_row(record, prev_, true, memory);
    return row.empty() ? first_row_behind(record, memory) : row;
  }

  std::vector<double> first_row_behind(const RecordView& record, Memory& memory) const {
    return nearest_row(record, next_, false, memory);
  }

  // The last or first row of the nearest keyframe that has one, from keyframe to keyframe by the
  // field `neighbour`; empty for none.
  std::vector<double> nearest_row(const RecordView& record, size_t neighbour, bool is_last,
                                  Memory& memory) const {
    std::vector<double> row;
    int64_t keyframe = record.scalar<int64_t>(neighbour);
    while (row.empty() && keyframe >= 0) {
      row = pick(field_of(keyframe, rows_, memory.rows), is_last);
      keyframe = field_of(keyframe, neighbour, memory.number).scalar<int64_t>();
    }
    return row;
  }

  FieldView field_of(int64_t keyframe, size_t field, std::vector<std::byte>& bytes) const {
    const bool has_value = keyframes_.read_field(keyframe, field, bytes);
    return {keyframes_.schema().fields[field], bytes, !has_value};
  }

  std::vector<double> pick(const FieldView& field, bool is_last) const {
    if (field.is_null()) return {};
    const TensorView rows = field.tensor();
    if (rows.dtype != DType::f64 || rows.shape.size() != 2 ||
        rows.shape[1] != static_cast<int64_t>(num_columns_)) {
      throw error_of(ErrorCode::corrupt, "its CAN bus poses are not f64 [m, {}]", num_columns_);
    }
    if (rows.shape[0] == 0) return {};
    std::vector<double> row(num_columns_);
    const size_t row_bytes = num_columns_ * sizeof(double);
    const size_t at = is_last ? static_cast<size_t>(rows.shape[0]) - 1 : 0;
    std::memcpy(row.data(), rows.data.data() + at * row_bytes, row_bytes);
    return row;
  }

  const Dataset keyframes_;
  CanBusRule rule_;
  size_t rows_;
  size_t prev_;
  size_t next_;
  size_t num_columns_ = 0;
  std::array<size_t, kNumUsed> columns_{};
};

}  // namespace

std::shared_ptr<const FieldDecoder> decode_can_bus(const Dataset& keyframes, CanBusRule rule) {
  return std::make_shared<CanBusDecoder>(keyframes, rule);
}

namespace {

constexpr size_t kYawRadians = 16;
constexpr size_t kYawDegrees = 17;

class MotionDecoder final : public FieldDecoder {
 public:
  // Without `can_bus`, what comes from it is 0.
  MotionDecoder(const Schema& schema, std::shared_ptr<const FieldDecoder> can_bus)
      : can_bus_(std::move(can_bus)), lidar_(schema, std::string(kLidar)) {}
  DType dtype() const override { return DType::f64; }
  std::vector<int64_t> shape() const override { return {kNumbers}; }
  std::optional<std::vector<size_t>> inputs() const override {
    std::vector<size_t> fields = {lidar_.ego_to_global};
    if (!can_bus_) return fields;
    const auto further = can_bus_->inputs();
    if (!further) return std::nullopt;
    fields.insert(fields.end(), further->begin(), further->end());
    return fields;
  }
  std::unique_ptr<Scratch> make_scratch() const override {
    return can_bus_ ? can_bus_->make_scratch() : nullptr;
  }

  void decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
              void* out) const override {
    std::array<double, kNumbers> numbers{};
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
  std::optional<std::vector<size_t>> inputs() const override { return {{prev_}}; }

  void decode(const RecordView& record, const SampleKey&, Scratch*, void* out) const override {
    const auto prev = record.scalar<int64_t>(prev_);
    if (prev >= std::ssize(places_)) {
      throw Error(ErrorCode::corrupt, "the previous keyframe is beyond the end of the split");
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
