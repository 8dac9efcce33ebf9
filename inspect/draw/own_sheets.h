// Records that `view` shows in a way of their own: keyframes of nuScenes (scenes/) and persons with
// roots (persons/). A build without the source of such records (FFKIT_SOURCES) compiles
// without_scenes.cpp or without_persons.cpp in their place, which say so.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>

#include "draw/contact_sheet.h"

namespace ffkit {

// Names of fields stand here as texts, since a build without nuscenes/ and pose/ knows them, too.
// The tests of view and serve see a field that is renamed.

// Whether the records of `schema` are nuScenes keyframes.
inline bool has_scenes(const Schema& schema) {
  return schema.index_of("LIDAR_TOP/points") >= 0 && schema.index_of("boxes/global") >= 0;
}
// Whether they are persons, of whom roots are found.
inline bool has_roots(const Schema& schema) {
  return schema.index_of("root_camera") >= 0;
}

struct SceneSheet {
  std::string output;
  int camera_width = 640;  // pixels, 160 .. 1600
  std::string results;     // a file of detections; empty: none
  double min_score = 0.3;  // of a detection that is drawn
  bool json = false;       // prints what was drawn
};

// Writes the picture of a keyframe. Throws what draw_scene() and write_output() throw.
void write_scene_sheet(const Dataset& dataset, int64_t index, const SceneSheet& sheet);

// Roots of a results file beside those of a split of persons.
class PersonResults {
 public:
  virtual ~PersonResults() = default;
  // Shows of the entry's picture what was cropped, with the found root and, where it is known, the
  // true one; lines below say how far before the camera they are. `json` gets root, found_root (X,
  // Y, Z before the camera) and distance, in the set's unit; null where the truth is not known.
  virtual void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const = 0;
  // How far the found root is from the true one, in the set's unit; NaN where that is not known.
  [[nodiscard]] virtual double distance(int64_t record) const = 0;
};

// Of `split`, a whole one, with one result for each record. Throws what pose::read_root_truth(),
// read_root_results() and roots_of_persons() throw.
std::unique_ptr<PersonResults> read_person_results(const Dataset& split,
                                                   const std::filesystem::path& file);

}  // namespace ffkit
