// Detections: boxes in pictures as COCO's results files have them, [{image_id, category_id, bbox,
// score}].
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/format/dataset.h>

#include "draw/contact_sheet.h"

namespace ffkit::serve {

struct Detection {
  SheetBox box;  // named by class and score
  double score = 0;
};

// Whether records are pictures of COCO with boxes and an image_id.
bool can_have_detections(const Schema& schema);

// The detections of each record of `split`, a whole one. Throws Error(not_found) without the file,
// Error(corrupt) for what is no such JSON, with the entry, and Error(invalid_argument) for pictures
// and categories that the split does not have.
std::vector<std::vector<Detection>> read_detections(const Dataset& split,
                                                    const std::filesystem::path& file);

// Detections from `min_score` on that match no box of their class with an intersection of half of
// the union, and boxes that none matches: the best detections first, as COCO matches them. Boxes of
// crowds are not missed, and a detection of which half lies in one is no mistake.
int64_t detection_mistakes(const Dataset& split, int64_t record,
                           const std::vector<Detection>& detections, double min_score);

}  // namespace ffkit::serve
