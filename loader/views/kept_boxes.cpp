#include "views/kept_boxes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <ffkit/format/dtype_visitor.h>

#include "format/enum_names.h"
#include "format/make_error.h"

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

double area_of(const BoxEdges& edges) {
  return (edges[2] - edges[0]) * (edges[3] - edges[1]);
}

// The upright box around a box of the picture in the view.
BoxEdges map_box(const ViewMatrix& matrix, const BoxEdges& box) {
  BoxEdges mapped = {INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (const size_t x : {0, 2}) {
    for (const size_t y : {1, 3}) {
      const auto [u, v] = map_point(matrix, box[x], box[y]);
      mapped = {std::min(mapped[0], u), std::min(mapped[1], v), std::max(mapped[2], u),
                std::max(mapped[3], v)};
    }
  }
  return mapped;
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

std::array<double, 2> map_point(const ViewMatrix& m, double x, double y) {
  const double w = m[6] * x + m[7] * y + m[8];
  return {(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w};
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

KeptBoxes keep_boxes(const BoxesField& options, const RecordView& record, size_t at,
                     const ImageInfo& picture, const ViewMatrix& matrix, ImageSize size) {
  const TensorView tensor = record.tensor(at);
  if (tensor.shape.size() != 2 || tensor.shape[1] != 4) {
    throw error_of(ErrorCode::corrupt, "field '{}' has shape [{}]; boxes have [n, 4]",
                   options.field, fmt::join(tensor.shape, ", "));
  }
  const std::vector<double> numbers = numbers_of(tensor);
  const auto width = static_cast<double>(size.width);
  const auto height = static_cast<double>(size.height);
  KeptBoxes kept{.num_boxes = tensor.shape[0]};
  for (int64_t i = 0; i < kept.num_boxes; ++i) {
    const std::span<const double> box(&numbers[4 * static_cast<size_t>(i)], 4);
    BoxEdges edges = edges_of(box, options.stored.format);
    require_area(options, i, box, edges);
    if (options.stored.is_relative) {
      for (size_t e = 0; e < 4; ++e) edges[e] *= e % 2 == 0 ? picture.width : picture.height;
    }
    const BoxEdges mapped = map_box(matrix, edges);
    const BoxEdges clipped = {std::clamp(mapped[0], 0.0, width), std::clamp(mapped[1], 0.0, height),
                              std::clamp(mapped[2], 0.0, width),
                              std::clamp(mapped[3], 0.0, height)};
    const double shorter = std::min(clipped[2] - clipped[0], clipped[3] - clipped[1]);
    const bool is_kept = shorter > 0 && shorter >= options.min_size &&
                         area_of(clipped) >= options.min_visible * area_of(mapped);
    if (!is_kept) continue;
    kept.indices.push_back(i);
    kept.edges.push_back(clipped);
  }
  if (std::ssize(kept.indices) > options.max_boxes) {
    throw error_of(ErrorCode::unsupported,
                   "field '{}' has {} boxes in the view, more than max_boxes, which is "
                   "{}; give a larger one",
                   options.field, kept.indices.size(), options.max_boxes);
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
