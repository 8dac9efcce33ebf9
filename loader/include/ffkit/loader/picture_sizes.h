// picture_sizes: how large the pictures of a data set are, for aspect_ratio_buckets().
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

// Reads all records once, on all cores, and of each picture the header. A data set made from COCO
// has the columns `width` and `height` for it. Throws Error(not_found) or Error(invalid_argument)
// for a field that has no pictures, and the Error of the first record that cannot be read, or whose
// picture is null or none.
PictureSizes picture_sizes(const Dataset& dataset, const std::string& field = "image");

}  // namespace ffkit
