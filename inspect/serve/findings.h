// Findings: what a results file says of the records of a split, whatever network wrote it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>

#include "draw/contact_sheet.h"
#include "scenes/keyframe.h"

namespace ffkit::serve {

// What was found in one record.
struct Finding {
  int64_t found = -1;            // the class; -1: no number of one
  std::string found_name;        // the class as the file has it
  std::optional<bool> is_right;  // nothing: the truth is not known
  double score = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();  // how bad it is, by error_name()
};

// Thread-safe.
class Findings {
 public:
  virtual ~Findings() = default;

  // "classes", "scenes", "roots" or "detections".
  [[nodiscard]] virtual std::string_view kind() const = 0;
  // The orders that records have by it: "score", "loss", "mistakes", "distance".
  [[nodiscard]] virtual std::vector<std::string> orders() const = 0;
  // What Finding::error is: one of orders(), or "" where there is none.
  [[nodiscard]] virtual std::string error_name() const = 0;
  // Nothing for a record that the file says nothing of.
  [[nodiscard]] virtual std::optional<Finding> find(int64_t record) const = 0;
  // Draws what was found beside the truth: boxes, roots.
  virtual void mark(int64_t record, SheetEntry& entry) const = 0;
  // Of a keyframe of nuScenes: the boxes that were found.
  [[nodiscard]] virtual std::vector<SeenBox> scene_boxes(int64_t) const { return {}; }
};

// Reads `file` as the results of `split`, a whole one, whose kind says what file it is. Throws
// Error(invalid_argument) for a file that belongs to no such split, and what the readers of the
// formats throw.
std::unique_ptr<Findings> read_findings(const Dataset& split, const std::filesystem::path& file);

// The value of a finding that `order` sorts by; NaN where there is none.
double value_of(const Finding& finding, std::string_view order);

}  // namespace ffkit::serve
