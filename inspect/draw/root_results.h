// Roots of a results file beside those of a split of persons, for a contact sheet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/root_truth.h>

#include "draw/contact_sheet.h"

namespace ffkit {

class RootResults {
 public:
  // Whether a split of this schema is one of persons.
  static bool can_be_of(const Schema& schema);

  // Reads the results, which are one a record of `split`, a whole split. Throws what
  // pose::read_root_truth(), read_root_results() and roots_of_persons() throw.
  RootResults(const Dataset& split, const std::filesystem::path& file);

  // Shows of the entry's picture what was cropped, with the found root and, where it is known, the
  // true one; lines below say how far before the camera they are. `json` gets root, found_root (X,
  // Y, Z before the camera) and distance, in the set's unit; null where the truth is not known.
  void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const;
  // How far the found root is from the true one, in the set's unit; NaN where that is not known.
  double distance(int64_t record) const;

 private:
  pose::RootTruth truth_;
  std::vector<pose::Point3> found_;
  std::string unit_;
};

}  // namespace ffkit
