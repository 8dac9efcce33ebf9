// Dataset: one split of a data set folder, its shards behind one global record number.
//
//   DST/train/manifest.json       record_index 0 .. num_records()-1, in the order of
//   DST/train/shard-00000.ffr     the manifest's shards
//   DST/train/shard-00001.ffr ...
//
// A cheap handle: copies share the open shards. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>

namespace ffkit {

class Dataset {
 public:
  // Opens `folder`/`split`, or `folder` itself when `split` is empty. Opens every shard and
  // compares it with the manifest. Throws Error(not_found) with the splits there are,
  // Error(corrupt) for a missing or different shard, and Error(invalid_argument) for a conversion
  // that has not finished.
  static Dataset open(const std::filesystem::path& folder, const std::string& split = "");

  const std::filesystem::path& path() const;  // the split's folder
  const Manifest& manifest() const;
  const Schema& schema() const;
  int64_t num_records() const;
  int64_t num_shards() const;
  const ShardReader& shard(int64_t shard_index) const;

  struct Location {
    int64_t shard_index = 0;
    int64_t local_index = 0;  // record number within the shard
    RecordLocation record;
  };
  // Where the bytes of a record lie; Error(invalid_argument) when out of range.
  Location locate(int64_t record_index) const;
  // Reads one record and checks its CRC.
  void read(int64_t record_index, std::vector<std::byte>& out) const;

  // Whole columns over all shards, in record order; see ShardReader.
  std::vector<int64_t> int_column(const std::string& field) const;
  std::vector<std::string> string_column(const std::string& field) const;

 private:
  struct Impl;
  explicit Dataset(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// The splits of a data set folder: the names of its sub-folders that hold a manifest, sorted.
std::vector<std::string> list_splits(const std::filesystem::path& folder);

// The file that marks a data set folder as not finished; the converter removes it last.
inline constexpr const char* kUnfinishedMarker = ".ffkit-unfinished";

}  // namespace ffkit
