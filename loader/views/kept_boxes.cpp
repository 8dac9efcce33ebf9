#include "views/kept_boxes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <ffkit/format/dtype_visitor.h>

#include "base/enum_names.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr EnumName<BoxFormat> kBoxFormatNames[] = {
    {BoxFormat::xywh, "xywh"}, {BoxFormat::xyxy, "xyxy"}, {BoxFormat::cxcywh, "cxcywh"}};

BoxEdges edges_of(std::span<const double> box, BoxFormat format) {
  switch (format) {
    case BoxFormat::xywh:
      return {box[0], box[1], box[0] + box[2], box[1] + box[3]};
    case BoxFormat::cxcywh:
      return {box[0] - box[2] / 2, box[1] - box[3] / 2, box[0] + box[2] / 2, box[1] + box[3] / 2};
    default:
      return {box[0], box[1], box[2], box[3]};
  }
}

void require_area(const BoxesField& options, int64_t i, std::span<const double> box,
                  const BoxEdges& edges) {
  const bool is_finite = std::ranges::all_of(edges, [](double e) { return std::isfinite(e); });
  if (is_finite && edges[2] > edges[0] && edges[3] > edges[1]) return;
  throw error_of(ErrorCode::corrupt,
                 "box {} of field '{}' is ({:g}) as {}, which {}; correct the data, or "
                 "leave the record out",
                 i, options.field, fmt::join(box, ", "), to_string(options.stored.format),
                 is_finite ? "has no area" : "has values that are no numbers");
}

}  // namespace

std::string_view to_string(BoxFormat format) {
  return name_of(kBoxFormatNames, format);
}

BoxFormat parse_box_format(std::string_view name) {
  return value_of(kBoxFormatNames, name, "box format");
}

std::vector<double> numbers_of(const TensorView& tensor) {
  return visit_dtype(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    std::vector<double> numbers(tensor.data.size() / sizeof(T));
    for (size_t i = 0; i < numbers.size(); ++i) {
      T number;
      std::memcpy(&number, tensor.data.data() + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<double>(number);
    }
    return numbers;
  });
}

std::vector<BoxEdges> boxes_of(const BoxesField& options, const RecordView& record, size_t at,
                               const ImageInfo& picture) {
  const TensorView tensor = record.tensor(at);
  if (tensor.shape.size() != 2 || tensor.shape[1] != 4) {
    throw error_of(ErrorCode::corrupt, "field '{}' has shape [{}]; boxes have [n, 4]",
                   options.field, fmt::join(tensor.shape, ", "));
  }
  const std::vector<double> numbers = numbers_of(tensor);
  std::vector<BoxEdges> boxes;
  boxes.reserve(numbers.size() / 4);
  for (int64_t i = 0; i < tensor.shape[0]; ++i) {
    const std::span<const double> box(&numbers[4 * static_cast<size_t>(i)], 4);
    BoxEdges edges = edges_of(box, options.stored.format);
    require_area(options, i, box, edges);
    if (options.stored.is_relative) {
      for (size_t e = 0; e < 4; ++e) edges[e] *= e % 2 == 0 ? picture.width : picture.height;
    }
    boxes.push_back(edges);
  }
  return boxes;
}

KeptBoxes keep_boxes(const BoxesField& options, const RecordView& record, size_t at,
                     const PictureViews& pictures, size_t i) {
  const std::vector<BoxEdges> boxes = boxes_of(options, record, at, pictures.info());
  KeptBoxes kept{.num_boxes = std::ssize(boxes)};
  for (int64_t box = 0; box < kept.num_boxes; ++box) {
    const auto moved = pictures.move_box(i, boxes[static_cast<size_t>(box)]);
    const BoxEdges& edges = moved.edges;
    const double shorter = std::min(edges[2] - edges[0], edges[3] - edges[1]);
    if (!moved.is_left || shorter < options.min_size || moved.visible < options.min_visible) {
      continue;
    }
    kept.indices.push_back(box);
    kept.edges.push_back(edges);
  }
  return kept;
}

std::array<float, 4> coordinates_of(const BoxEdges& edges, const BoxCoordinates& coordinates,
                                    ImageSize size) {
  BoxEdges box = edges;
  if (coordinates.is_relative) {
    for (size_t e = 0; e < 4; ++e) {
      box[e] /= static_cast<double>(e % 2 == 0 ? size.width : size.height);
    }
  }
  const double width = box[2] - box[0];
  const double height = box[3] - box[1];
  if (coordinates.format == BoxFormat::xywh) box = {box[0], box[1], width, height};
  if (coordinates.format == BoxFormat::cxcywh) {
    box = {box[0] + width / 2, box[1] + height / 2, width, height};
  }
  return {static_cast<float>(box[0]), static_cast<float>(box[1]), static_cast<float>(box[2]),
          static_cast<float>(box[3])};
}

}  // namespace ffkit
