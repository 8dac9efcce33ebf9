// Segmentations of COCO as pixels, exactly as pycocotools draws them: polygons, and runs (RLE) as
// lists of numbers or compressed as text.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/converter/image_storage.h>

namespace ffkit {

// Pixels [begin, end) of a picture whose pixels are counted down its columns, one column after the
// other, as COCO's runs are.
struct PixelRun {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const PixelRun&) const = default;
};

// The pixels of a polygon x0, y0, x1, y1, ... of at least three points, in order and apart. Throws
// Error(invalid_argument) for fewer or half points and for coordinates far outside of a picture.
std::vector<PixelRun> runs_of_polygon(std::span<const double> xy, PixelSize size);

// The numbers of pixels that are outside, inside, outside, ... of a compressed text, which
// pycocotools writes. Throws Error(invalid_argument) for what is none.
std::vector<int64_t> run_lengths_of_text(std::string_view text);

// The pixels of an annotation's `segmentation`; of several polygons their union, one behind the
// other. Nothing for an empty list. Throws Error(invalid_argument) for what is no segmentation of a
// picture of `size`.
std::vector<PixelRun> runs_of_segmentation(simdjson::dom::element segmentation, PixelSize size);

}  // namespace ffkit
