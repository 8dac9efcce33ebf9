// DatasetRecords: what all sources that read data sets of ffkit have in common: a split is a data
// set, and a sample is one of its records.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/dataset.h>

#include "converter/input/listed_source.h"

namespace ffkit {

class DatasetRecords : public ListedSource {
 public:
  // Throws Error(invalid_argument) without a data set.
  explicit DatasetRecords(std::vector<Dataset> datasets);

  Schema schema() const override { return datasets_.front().schema(); }
  SampleIdentity identity(size_t split, int64_t index) const override;
  std::vector<SourceInput> inputs(size_t split) const override;
  std::string describe(size_t split, int64_t index) const override;
  // Of a column, which is read once, with the first of them.
  std::optional<std::string> listed_id(size_t split, int64_t index) const override;

 protected:
  const std::vector<Dataset> datasets_;

 private:
  struct Ids {
    std::once_flag is_read;
    std::vector<std::string> ids;
  };
  const std::unique_ptr<Ids[]> ids_;  // of each data set
};

}  // namespace ffkit
