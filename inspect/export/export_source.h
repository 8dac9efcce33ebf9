// The records of a split that are exported, with all of their fields or some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

namespace ffkit {

// Thread-safe once it is made. Views of records refer to it: it must stay where it is meanwhile.
class ExportSource {
 public:
  // `fields`: those that are exported, in this order; empty: all. Throws Error(not_found) for one
  // that there is not, Error(invalid_argument) for one that is named twice.
  explicit ExportSource(Dataset dataset, const std::vector<std::string>& fields = {});

  const Dataset& dataset() const noexcept { return dataset_; }
  const std::string& split() const noexcept { return dataset_.manifest().split; }
  // Of the chosen fields.
  const Schema& schema() const noexcept { return schema_; }
  // Record `index` of the data set, whose bytes are `record`, as one of schema().
  RecordView view(int64_t index, std::span<const std::byte> record) const {
    return {schema_, record, dataset_.name(index),
            mapping_.positions.empty() ? nullptr : &mapping_};
  }

 private:
  Dataset dataset_;
  Schema schema_;
  FieldMapping mapping_;  // without positions: all fields as they are
};

}  // namespace ffkit
