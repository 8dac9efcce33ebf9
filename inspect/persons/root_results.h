// What was found of persons: their roots, beside the true ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/root_truth.h>

#include "draw/own_sheets.h"

namespace ffkit {

class RootResults : public PersonResults {
 public:
  // Reads the results, which are one a record of `split`, a whole split. Throws what
  // pose::read_root_truth(), read_root_results() and roots_of_persons() throw.
  RootResults(const Dataset& split, const std::filesystem::path& file);

  void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const override;
  // How far the found root is from the true one, in the set's unit; NaN where that is not known.
  [[nodiscard]] double distance(int64_t record) const;

 private:
  pose::RootTruth truth_;
  std::vector<pose::Point3> found_;
  std::string unit_;
};

}  // namespace ffkit
