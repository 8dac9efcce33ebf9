// Dataset: one split of a data set, its shards behind one global record number.
//
//   DST/train/manifest.json       record_index 0 .. num_records()-1, in the order of
//   DST/train/shard-00000.ffr     the manifest's shards
//   DST/train/shard-00001.ffr ...
//
// FFRecord v1 opens the same way: DST/train.ffr/PART_00000.ffr ..., one file, or a list of files. A subset is a Dataset too:
// it numbers its records anew, from 0.
//
// A cheap handle: copies and subsets share the open shards. All functions are thread-safe. One that was moved from can only be destroyed or
// assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/format/filter.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

namespace ffkit {

class Dataset {
 public:
  // Opens the split `split` of `path`, or what `path` itself is when `split` is empty: a split's folder, a folder of v1 files, or one
  // shard or v1 file. Opens every shard and compares it with the manifest. Throws Error(not_found) with the splits there are,
  // Error(corrupt) for a missing or different shard, and Error(invalid_argument) for a conversion
  // that has not finished. `options` are those of every shard.
  static Dataset open(const std::filesystem::path& path, const std::string& split = "",
                      const ShardReaderOptions& options = {});
  // Opens shards or v1 files, in this order, as one data set; they must have the same schema.
  static Dataset open_files(const std::vector<std::filesystem::path>& files,
                            const ShardReaderOptions& options = {});

  // What was opened: the split's folder, or the (first) file.
  const std::filesystem::path& path() const;
  // Of the whole split, also for a subset. That of v1 files, or of single shards, is made up from what they contain.
  const Manifest& manifest() const;
  const Schema& schema() const;
  int format_version() const;  // 1 or 2
  // Sentences the user should know, such as that a v1 file has no checksum.
  const std::vector<std::string>& warnings() const;
  int64_t num_records() const;
  int64_t num_shards() const;
  // 0 .. num_shards()-1; Error(invalid_argument) for another.
  const ShardReader& shard(int64_t shard_index) const;
  // Identifies content and, for a subset, choice and order of the records: 16 hex digits.
  const std::string& fingerprint() const;

  // The records of this data set with these numbers, in this order; numbers may repeat. Throws Error(invalid_argument) for one that is out of
  // range. Takes 8 bytes of memory a record.
  Dataset subset(const std::vector<int64_t>& record_indices) const;
  // The records for which `filter` holds, in their order. Reads columns, no records. Errors as matching_records().
  Dataset where(const Filter& filter) const;
  bool is_subset() const;
  // All records of the split that this is a subset of; itself unless it is one.
  Dataset whole_split() const;
  // The number in the whole split of a record of this data set; the same number unless it is a subset.
  int64_t index_in_split(int64_t record_index) const;

  struct Location {
    int64_t shard_index = 0;
    int64_t local_index = 0;  // record number within the shard
    RecordLocation record;
  };
  // Where the bytes of a record lie; Error(invalid_argument) when out of range.
  Location locate(int64_t record_index) const;
  // File and number of a record, for RecordView and the messages of its errors; lives as long as this data set. Error(invalid_argument)
  // when out of range.
  RecordName name(int64_t record_index) const;
  // Reads one record and checks its checksum.
  void read(int64_t record_index, std::vector<std::byte>& out) const;
  // Reads one field of a record (position in the schema) alone; see ShardReader::read_field.
  bool read_field(int64_t record_index, size_t field, std::vector<std::byte>& out) const;

  // Whole columns, in record order; see ShardReader.
  std::vector<int64_t> int_column(const std::string& field) const;
  std::vector<double> float_column(const std::string& field) const;
  std::vector<std::string> string_column(const std::string& field) const;

 private:
  struct Impl;
  struct Choice;  // the records of a subset
  Dataset(std::shared_ptr<const Impl> impl, std::shared_ptr<const Choice> choice);
  // Every shard's column, one after the other; then the choice among it.
  template <typename T>
  std::vector<T> column(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                        const std::string& field) const;
  template <typename T>
  std::vector<T> joined(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                        const std::string& field) const;
  Dataset filtered(const Filter& filter) const;
  // Shard and number in it of a record of the whole split, which is in range.
  std::pair<size_t, int64_t> find(int64_t record_index) const;

  std::shared_ptr<const Impl> impl_;
  std::shared_ptr<const Choice> choice_;  // null: all
};

// The splits of a data set folder, sorted: the names of its sub-folders that hold a manifest, and "train" for v1's folder train.ffr.
std::vector<std::string> list_splits(const std::filesystem::path& folder);

// The file that marks a data set folder as not finished; the converter removes it last.
inline constexpr const char* kUnfinishedMarker = ".ffkit-unfinished";

}  // namespace ffkit
