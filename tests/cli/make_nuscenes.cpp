// A made-up nuScenes set and detections for it:
//
//   make_nuscenes FOLDER   writes FOLDER/mini_val, FOLDER/mini_val_sweeps, and FOLDER/results.json
//                          with every annotation as a detection
#include "nuscenes/make_nuscenes.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>

#include <ffkit/nuscenes/detection.h>

namespace {

void write_results(const std::filesystem::path& folder) {
  using namespace ffkit::nuscenes;
  const GroundTruth truth = read_ground_truth(ffkit::Dataset::open(folder, "mini_val"));
  std::ofstream file(folder / "results.json");
  file << R"({"meta": {"use_lidar": true}, "results": {)";
  for (size_t s = 0; s < truth.samples.size(); ++s) {
    const SampleTruth& sample = truth.samples[s];
    file << fmt::format("{}\"{}\": [", s == 0 ? "" : ", ", sample.token);
    for (size_t i = 0; i < sample.boxes.size(); ++i) {
      const DetectionBox& b = sample.boxes[i];
      const bool has_velocity = std::isfinite(b.velocity[0]);
      file << fmt::format(
          R"({}{{"sample_token": "{}", "translation": [{}, {}, {}], "size": [{}, {}, {}], "rotation": [{}, {}, {}, {}], )"
          R"("velocity": [{}, {}], "detection_name": "{}", "detection_score": 0.{}, "attribute_name": ""}})",
          i == 0 ? "" : ", ", sample.token, b.translation[0], b.translation[1], b.translation[2],
          b.size[0], b.size[1], b.size[2], b.rotation.w, b.rotation.x, b.rotation.y, b.rotation.z,
          has_velocity ? b.velocity[0] : 0, has_velocity ? b.velocity[1] : 0,
          kClasses[static_cast<size_t>(b.class_number)], 9 - i);
    }
    file << "]";
  }
  file << "}}\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    ffkit::testing::make_nuscenes(argv[1]);
    write_results(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "make_nuscenes: %s\n", e.what());
    return 1;
  }
}
