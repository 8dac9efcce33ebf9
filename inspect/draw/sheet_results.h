// Results files beside a split, for a contact sheet: predicted classes, and roots of persons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/pose/root_truth.h>

#include "draw/contact_sheet.h"

namespace ffkit {

// Predicted classes of a results file beside those of a split of labelled pictures.
class ClassResults {
 public:
  // Whether the file is one of predicted classes: its first line is an object with a record, a
  // class and a score.
  static bool can_be(const std::filesystem::path& file);

  // Reads fftrain's results, an object a line, of some records of `split`, a whole split. Throws
  // Error(corrupt) naming the first line that is none, and Error(invalid_argument) where a record
  // or its id is not the split's.
  ClassResults(const Dataset& split, const std::filesystem::path& file);

  // Numbers of the records whose label is another class than was predicted, the most confident
  // first.
  std::vector<int64_t> wrong() const;

  // A line below the entry's picture: "found dog, 97.1 %". `json` gets found_class and score; null
  // for a record without a result.
  void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const;

  struct Found {
    std::string name, label;  // label empty: not known
    double score = 0;
    double loss = std::numeric_limits<double>::quiet_NaN();
  };
  // Null for a record without a result.
  const Found* find(int64_t record) const;

 private:
  std::vector<int64_t> records_;  // in the order of the file
  std::unordered_map<int64_t, Found> found_;
};

// Roots of a results file beside those of a split of persons.
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
