// DatasetRecords: what all sources that read data sets of ffkit have in common: a split is a data
// set, and a sample is one of its records.
#pragma once

#include <string>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>

#include "input/listed_source.h"

namespace ffkit {

class DatasetRecords : public ListedSource {
 public:
  // Throws Error(invalid_argument) without a data set.
  explicit DatasetRecords(std::vector<Dataset> datasets);

  Schema schema() const override { return datasets_.front().schema(); }
  SampleIdentity identity(size_t split, int64_t index) const override;
  std::vector<SourceInput> inputs(size_t split) const override;
  std::string describe(size_t split, int64_t index) const override;

 protected:
  const std::vector<Dataset> datasets_;
};

}  // namespace ffkit
