// KeptBoxes: the boxes of a sample that stay in a view, and where they are there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/image/image_info.h>
#include <ffkit/image/rgb_image.h>
#include <ffkit/image/view_geometry.h>
#include <ffkit/loader/view.h>

#include "image/views/picture_views.h"

namespace ffkit {

// A tensor [n, ...] of f32, f64, i32 or i64 as numbers, row by row.
std::vector<double> numbers_of(const TensorView& tensor);

struct KeptBoxes {
  std::vector<int64_t> indices;  // of the record's boxes, ascending
  std::vector<BoxEdges> edges;   // in pixels of the view, within it
  int64_t num_boxes = 0;         // of the record
};

// The boxes of a picture, in its pixels. `at` is the place of options.field in the record. Throws
// Error(corrupt) for another shape than [n, 4], and for boxes without area or with values that are
// no numbers.
std::vector<BoxEdges> boxes_of(const BoxesField& options, const RecordView& record, size_t at,
                               const ImageInfo& picture);

// Of picture `i` of the sample's. Throws what boxes_of() throws.
KeptBoxes keep_boxes(const BoxesField& options, const RecordView& record, size_t at,
                     const PictureViews& pictures, size_t i);

// In the coordinates that the options ask for.
std::array<float, 4> coordinates_of(const BoxEdges& edges, const BoxCoordinates& coordinates,
                                    ImageSize size);

}  // namespace ffkit
