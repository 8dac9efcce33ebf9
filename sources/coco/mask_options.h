// --segmentation: which fields are made of segmentations.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <ffkit/base/option_table.h>

#include "converter/input/names.h"

namespace ffkit {

inline constexpr const char* kSemanticMask = "semantic";
inline constexpr const char* kInstanceMasks = "instances";
inline constexpr const char* kMaskRuns = "masks";
inline constexpr const char* kSegmentationJson = "json";
inline constexpr const char* kFieldsOfSegmentations =
    "Fields to make from the segmentations, one or several. 'semantic' is a mask with the ids of "
    "categories. 'instances' is a mask with the numbers of annotations, from 1. 'masks' has one "
    "mask for each annotation. 'json' has the JSON text of the segmentations";

class MaskFields {
 public:
  explicit MaskFields(std::vector<std::string> allowed = {kSemanticMask, kInstanceMasks, kMaskRuns,
                                                          kSegmentationJson})
      : allowed_(std::move(allowed)) {}

  void describe(OptionTable& table, const char* help = kFieldsOfSegmentations) {
    table.add_names("segmentation", names_, help);
  }
  void check() const {
    if (!names_.empty()) require_names("segmentation", names_, allowed_);
  }
  bool has(const char* name) const { return std::ranges::find(names_, name) != names_.end(); }

 private:
  std::vector<std::string> allowed_;
  std::vector<std::string> names_;
};

}  // namespace ffkit
