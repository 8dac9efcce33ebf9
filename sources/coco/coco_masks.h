// Segmentations of COCO as pixels, exactly as pycocotools draws them: polygons, and runs (RLE) as
// lists of numbers or compressed as text.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/image_storage.h>

#include "coco/coco_file.h"
#include "converter/input/input_file.h"

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
// other. Nothing for an empty list. A polygon that is none is left out: leave_out() is told why.
// Throws Error(invalid_argument) for what is no segmentation of a picture of `size`.
std::vector<PixelRun> runs_of_segmentation(
    simdjson::dom::element segmentation, PixelSize size,
    const std::function<void(const std::string& why)>& leave_out);

// The segmentations of a picture's annotations, read again from their file (null: they are in
// CocoAnnotations::segmentation): as JSON, and painted.

// A JSON array with the 'segmentation' of each annotation of the picture, null for those without.
// Throws Error(corrupt) when `annotations` is no longer what `file` was read from.
std::string segmentation_json(const InputFile* annotations, const CocoFile& file, size_t picture);

struct CocoMaskKinds {
  bool semantic = false;
  bool instances = false;
  bool runs = false;
  bool is_wide = false;   // ids of categories have 16 bits
  bool has_zero = false;  // 0 is a category: pixels of none are the largest number

  bool any() const { return semantic || instances || runs; }
};

// PNGs of one channel, empty where they were not asked for.
struct CocoMasks {
  std::vector<std::byte> semantic;   // the category's id of each pixel; none: has_zero
  std::vector<std::byte> instances;  // of 16 bits: k + 1 of the annotation k of annotations_of()
  // Of each annotation of annotations_of(), where asked for: [begin, end) of its pixels, counted
  // along the rows, one pair behind the other.
  std::vector<std::vector<uint32_t>> runs;
  int64_t num_without = 0;  // annotations that have no segmentation
};

// Annotations are painted one over the other: crowds first, then the others, each in the order of
// the file. Polygons and segmentations that are none, or of another size, are left out by
// `buffers`. Throws as segmentation_json().
CocoMasks paint_coco_masks(const InputFile* annotations, const CocoFile& file, size_t picture,
                           PixelSize size, const CocoMaskKinds& kinds, SampleBuffers& buffers);

// Throws Error(unsupported) where the categories' ids of `file` cannot be the numbers of pixels, 0
// to 65534. Says in `kinds` which of them they are.
void require_ids_for_masks(const CocoFile& file, const std::filesystem::path& annotations,
                           CocoMaskKinds& kinds);

}  // namespace ffkit
