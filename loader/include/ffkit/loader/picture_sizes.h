// picture_sizes: sizes of the pictures of a data set, for aspect_ratio_buckets().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

struct PictureSizes {
  std::vector<int64_t> widths;  // pixels, by record
  std::vector<int64_t> heights;
};

// Reads all records once, on all cores, but only the headers of pictures. A data set made from COCO
// has the columns `width` and `height` instead. Throws Error(not_found) or Error(invalid_argument)
// for a field without pictures, and the Error of the first record that cannot be read or has no
// valid picture.
PictureSizes picture_sizes(const Dataset& dataset, const std::string& field = "image");

}  // namespace ffkit
