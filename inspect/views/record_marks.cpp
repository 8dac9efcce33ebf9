#include "views/record_marks.h"

#include <array>
#include <cstring>

#include <ffkit/format/dtype_visitor.h>

#include "data/data_sets.h"

namespace ffkit {
namespace {

// The rows of the tensor `field`, f32 [N, n]. None where there is no such tensor.
template <size_t n>
std::vector<std::array<float, n>> rows_of(const Schema& schema, const RecordView& record,
                                          const char* field) {
  const int at = schema.index_of(field);
  if (at < 0 || schema.fields[static_cast<size_t>(at)].type != FieldType::tensor ||
      record.is_null(static_cast<size_t>(at))) {
    return {};
  }
  const auto [dtype, shape, data] = record.tensor(static_cast<size_t>(at));
  if (dtype != DType::f32 || shape.size() != 2 || shape[1] != n) return {};
  std::vector<std::array<float, n>> rows(static_cast<size_t>(shape[0]));
  if (!rows.empty()) std::memcpy(rows.data(), data.data(), rows.size() * sizeof(rows[0]));
  return rows;
}

}  // namespace

std::vector<SheetBox> marked_boxes(const Dataset& dataset, const RecordView& record) {
  const Schema& schema = dataset.schema();
  std::vector<SheetBox> boxes;
  for (const auto& [x, y, width, height] : rows_of<4>(schema, record, "boxes")) {
    boxes.push_back({.x = x, .y = y, .width = width, .height = height});
  }
  if (boxes.empty()) return boxes;
  const int labels_at = schema.index_of("labels");
  if (labels_at < 0 || record.is_null(labels_at)) return boxes;
  const auto labels = record.tensor(labels_at);
  if (labels.dtype != DType::i64 || labels.data.size() != boxes.size() * sizeof(int64_t)) {
    return boxes;
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::memcpy(&boxes[i].class_number, labels.data.data() + i * sizeof(int64_t), sizeof(int64_t));
    boxes[i].name = class_of(dataset.manifest(), boxes[i].class_number);
  }
  return boxes;
}

std::vector<SheetPoint> marked_joints(const Schema& schema, const RecordView& record) {
  std::vector<SheetPoint> points;
  for (const auto& [x, y, visible] : rows_of<3>(schema, record, "joints")) {
    const auto kind = visible > 0 ? SheetPoint::Kind::joint : SheetPoint::Kind::hidden_joint;
    points.push_back({.x = x, .y = y, .kind = kind});
  }
  return points;
}

std::vector<SheetPoint> marked_keypoints(const Schema& schema, const RecordView& record) {
  std::vector<SheetPoint> points;
  const int at = schema.index_of("keypoints");
  if (at < 0 || schema.fields[static_cast<size_t>(at)].type != FieldType::tensor ||
      record.is_null(static_cast<size_t>(at))) {
    return points;
  }
  const TensorView tensor = record.tensor(static_cast<size_t>(at));
  if (tensor.shape.size() != 3 || tensor.shape[2] != 3) return points;
  visit_dtype(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_arithmetic_v<T>) {
      for (size_t i = 0; i + 3 * sizeof(T) <= tensor.data.size(); i += 3 * sizeof(T)) {
        std::array<T, 3> point = {};
        std::memcpy(point.data(), tensor.data.data() + i, sizeof point);
        if (point[2] == T{0}) continue;
        points.push_back(
            {.x = static_cast<double>(point[0]),
             .y = static_cast<double>(point[1]),
             .kind = point[2] > T{1} ? SheetPoint::Kind::joint : SheetPoint::Kind::hidden_joint});
      }
    }
  });
  return points;
}

}  // namespace ffkit
