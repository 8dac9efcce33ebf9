// Predicted classes of a results file beside those of a split of labelled pictures, for a contact
// sheet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>

#include "draw/contact_sheet.h"

namespace ffkit {

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
  // All records that there are results of, in the order of the file.
  const std::vector<int64_t>& records() const { return records_; }

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
  std::vector<int64_t> records_;
  std::unordered_map<int64_t, Found> found_;
};

}  // namespace ffkit
