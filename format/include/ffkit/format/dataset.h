// Dataset: one split of a data set, with one global record number over all shards.
//
//   DST/train/manifest.json       record_index 0 .. num_records()-1, in the order of
//   DST/train/shard-00000.ffr     the manifest's shards
//   DST/train/shard-00001.ffr ...
//
// FFRecord v1 opens the same way: DST/train.ffr/PART_00000.ffr ..., one file, or a list of files. A
// subset is a Dataset, too, with its own record numbers from 0. So is a chain of several splits:
//
//   chain({a, b})   records: a's, then b's   sources: 0, 1   fields: a's, then those of b alone
//
// Copies are cheap: copies and subsets share the open shards. All functions are thread-safe. A
// moved-from object can only be destroyed or assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/filter.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

namespace ffkit {

class Dataset {
 public:
  // Opens the split `split` of the data set `path`. If `split` is empty, `path` is the folder of a
  // split, a folder of v1 files, a shard or a v1 file. If there are at most options.max_open_shards
  // shards, opens each and compares it with the manifest; otherwise each when it is needed
  // (ShardReaderOptions::check_shards). Throws Error(not_found) for a missing split (with the
  // existing ones) or shard, Error(corrupt) for a different shard, and Error(invalid_argument) for
  // an unfinished conversion. `options` apply to every shard.
  static Dataset open(const std::filesystem::path& path, const std::string& split = "",
                      const ShardReaderOptions& options = {});
  // Opens shards or v1 files, in this order, as one data set; they must have the same schema.
  static Dataset open_files(const std::vector<std::filesystem::path>& files,
                            const ShardReaderOptions& options = {});

  // Returns a data set with the records of all `sources`, in this order; it shares their open
  // shards. A chain of subsets takes 8 bytes of memory per record. A chain of chains has the
  // sources of all of them.
  //
  // The schema has the fields of all sources. If a source lacks a field, it is null in its records,
  // and 0 or empty in columns. A field has a column if every source with the field has its column.
  // Throws Error(invalid_argument) without sources, and if two sources, which it names, have a
  // field with different types, or different classes.
  static Dataset chain(const std::vector<Dataset>& sources);

  // The opened folder or (first) file; for a chain, that of its first source.
  [[nodiscard]] const std::filesystem::path& path() const noexcept;
  // The manifest of the whole split, also for a subset. For v1 files and single shards it is made
  // from their contents. For a chain it has the shards of all sources, and the facts and options
  // that are equal in all of them.
  [[nodiscard]] const Manifest& manifest() const noexcept;
  [[nodiscard]] const Schema& schema() const noexcept;
  [[nodiscard]] int format_version() const;  // 1 or 2; of the first shard
  // Sentences the user should know, such as that a v1 file has no checksum.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept;
  [[nodiscard]] int64_t num_records() const noexcept;
  [[nodiscard]] int64_t num_shards() const noexcept;
  // 0 .. num_shards()-1; Error(invalid_argument) for another.
  [[nodiscard]] const ShardReader& shard(int64_t shard_index) const;
  // Identifies the content and, for a subset, the choice and order of records: 16 hex digits.
  [[nodiscard]] const std::string& fingerprint() const noexcept;

  // The records with these numbers, in this order; numbers may repeat. Throws
  // Error(invalid_argument) for a number out of range. Takes 8 bytes of memory per record.
  [[nodiscard]] Dataset subset(const std::vector<int64_t>& record_indices) const;
  // The records that fulfil `filter`, in their order. Reads only columns. If the records have a
  // label but no field "class", and the manifest has classes, the filter may have conditions on
  // "class": by identifier, by name, or by one of several names ("tench, Tinca tinca"). Throws like
  // matching_records(); Error(not_found) for an unknown class, Error(invalid_argument) for a name
  // of several classes, and for a chain if a source lacks a field of the filter: filter that source
  // before you chain it.
  [[nodiscard]] Dataset where(const Filter& filter) const;
  [[nodiscard]] bool is_subset() const noexcept;
  // All records of the split that this is a subset of; itself unless it is one.
  [[nodiscard]] Dataset whole_split() const;
  // A record's number in the whole split; the same number unless this is a subset.
  [[nodiscard]] int64_t index_in_split(int64_t record_index) const;

  // Splits that this is made of: 1 unless it is a chain, or a subset of one.
  [[nodiscard]] int64_t num_sources() const;
  // The whole split number 0 .. num_sources()-1; itself when there is one. Error(invalid_argument)
  // for another.
  [[nodiscard]] Dataset source(int64_t source) const;
  // The number of the source of a record; Error(invalid_argument) when out of range.
  [[nodiscard]] int64_t source_of(int64_t record_index) const;
  // The number of records of each source. Throws Error(invalid_argument) for a subset that is not
  // ordered by source.
  [[nodiscard]] std::vector<int64_t> source_sizes() const;
  // For RecordView: how to read a record of the shard as one of schema(); null if it is one. Lives
  // as long as this data set. Error(invalid_argument) if out of range.
  [[nodiscard]] const FieldMapping* field_mapping(int64_t record_index) const;

  struct Location {
    int64_t shard_index = 0;
    int64_t local_index = 0;  // record number within the shard
    RecordLocation record;
  };
  // Where the bytes of a record lie; Error(invalid_argument) when out of range.
  [[nodiscard]] Location locate(int64_t record_index) const;
  // As ShardReader::will_locate(); Error(invalid_argument) when out of range.
  void will_locate(int64_t record_index) const;
  // Hint that the record will be read soon: if its shard is in a store and not in the cache, its
  // blocks are fetched in the background. Opens the shard. Throws only Error(invalid_argument) if
  // out of range.
  void will_read(int64_t record_index) const;
  // File and number of a record, for RecordView and its error messages; lives as long as this data
  // set. Error(invalid_argument) if out of range.
  [[nodiscard]] RecordName name(int64_t record_index) const;
  // Reads one record and checks its checksum: the bytes of a record of schema().
  void read(int64_t record_index, std::vector<std::byte>& out) const;
  // Reads only one field of a record (by its position in the schema); see ShardReader::read_field.
  bool read_field(int64_t record_index, size_t field, std::vector<std::byte>& out) const;

  // Whole columns, in record order; see ShardReader.
  [[nodiscard]] std::vector<int64_t> int_column(const std::string& field) const;
  [[nodiscard]] std::vector<uint64_t> uint_column(const std::string& field) const;
  [[nodiscard]] std::vector<double> float_column(const std::string& field) const;
  [[nodiscard]] std::vector<std::string> string_column(const std::string& field) const;

 private:
  struct Impl;
  struct Choice;  // the records of a subset
  struct Place;   // of a record of the whole split
  Dataset(std::shared_ptr<const Impl> impl, std::shared_ptr<const Choice> choice);
  // Every shard's column, one after the other; then the choice among it.
  template <typename T>
  std::vector<T> column(std::vector<T> (ShardReader::*read_column)(const std::string&) const,
                        const std::string& field) const;
  Place find(int64_t record_index) const;

  std::shared_ptr<const Impl> impl_;
  std::shared_ptr<const Choice> choice_;  // null: all
};

// The splits of a data set folder, sorted: the names of sub-folders with a manifest, and "train"
// for v1's folder train.ffr.
std::vector<std::string> list_splits(const std::filesystem::path& folder);

// False: it is an address of a store, such as "s3://bucket/set".
bool is_local(const std::filesystem::path& path);
// A path or address that may be stored and shown: without the signature of a URL, which only this
// process keeps.
std::filesystem::path kept_path(const std::filesystem::path& path);
// Whether the folder is that of a split: there is a manifest in it.
bool is_split_folder(const std::filesystem::path& folder);
// Whether the data set folder has a split with that name, finished or not, of any version, or is
// that split itself.
bool has_split(const std::filesystem::path& folder, const std::string& split);

// The file that marks a data set folder as not finished; the converter removes it last.
inline constexpr const char* kUnfinishedMarker = ".ffkit-unfinished";

}  // namespace ffkit
