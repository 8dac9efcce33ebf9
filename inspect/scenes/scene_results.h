// Detections of a results file as boxes of a scene view.
#pragma once

#include <string>
#include <vector>

#include <ffkit/nuscenes/detection.h>

#include "scenes/scene_record.h"
#include "scenes/scene_view.h"

namespace ffkit {

// Those of the sample `token` with at least results.min_score, named by class and score. Reads the
// whole file. Throws what read_submission() throws, and Error(not_found) when the file lacks the
// sample.
std::vector<SeenBox> read_predictions(const SceneResults& results, const std::string& token);

// The detections of a sample with at least `min_score`, likewise.
std::vector<SeenBox> seen_boxes(const nuscenes::SampleDetections& sample, double min_score);

}  // namespace ffkit
