// The records that an export is given, and what it has written: what of it is not as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

namespace ffkit {

// The records of a split that are exported, with all of their fields or some. Thread-safe once it
// is made. Views of records refer to it: it must stay where it is meanwhile.
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

// "fields that are null in some records, ...: 'a' in 3; 'b' in 1".
struct ExportNote {
  std::string sentence;
  std::vector<std::string> items = {};  // behind a colon

  // With all items, or with the first ones and the number of the others.
  std::string text(bool is_whole) const;
};

struct ExportedSplit {
  std::string split;
  int64_t num_records = 0;
  int64_t num_files = 0;
  int64_t num_bytes = 0;
  int64_t num_skipped = 0;  // records of which nothing was written: all they could give is null
  std::map<int64_t, std::string> renamed = {};  // see ExportNames
  std::vector<ExportNote> notes = {};           // what is not as it was
  // Options of `ffconvert webdataset` that the split needs to come back.
  std::set<std::string> way_back = {};
};

struct Exported {
  std::vector<ExportedSplit> splits;
  // Files of classes beside the splits, relative to the destination: "classes.txt". For forms that
  // do not say the classes in another way.
  std::vector<std::string> class_files;
  std::vector<std::string> notes;  // on the whole of it
};

// Writes into `folder` what classes the splits have: classes.txt with their identifiers, which
// `ffconvert --classes` takes, and class_names.txt where they have readable names. Where splits
// differ, each has its own: classes-<split>.txt. Adds their names, and what cannot be said in them,
// to `exported`. Throws Error(io).
void write_class_files(const std::vector<Dataset>& splits, const std::filesystem::path& folder,
                       Exported& exported);

}  // namespace ffkit
