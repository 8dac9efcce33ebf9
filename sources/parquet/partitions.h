// Folders whose names are values of a column, as Spark, Hive, Arrow and pandas write them:
//
//   label=cat/part-0.parquet         the column `label` is "cat" in all rows of the file
//   train/label=cat/part-0.parquet   the same, by split
//   split=train/part-0.parquet       `split` says the split, where its values are names of splits
//
// Values are as in addresses ("%20" is a space); "__HIVE_DEFAULT_PARTITION__" is null.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/row_sources.h>

#include "files/shard_files.h"
#include "rows/row_table.h"

namespace ffkit {

struct PartitionValue {
  std::string key;
  std::optional<std::string> value;
};

// Nothing where neither `path` nor its folders have folders of values. Throws as find_shards(), and
// Error(invalid_argument) for shards that lie in other folders beside these.
std::optional<ShardListing> find_partitioned_shards(const std::filesystem::path& path,
                                                    const ShardNames& names);

// The values in the names of the folders between `root` and `file`, but for those of splits.
std::vector<PartitionValue> partition_values(const std::filesystem::path& root,
                                             const std::filesystem::path& file);

// PartitionColumns: columns whose values stand in the names of folders (label=cat/part-0.parquet).
// All rows of a file have the same. Whole numbers are i64, others texts; texts of a label are its
// classes, in the order of their names.

// The values in folders' names, by column.
using PartitionTexts = std::map<std::string, std::set<std::string>>;

class PartitionColumns {
 public:
  PartitionColumns() = default;
  // `files`: by split. `own`: the columns in the files, which count where both have one; a note
  // says so. `all`: the values of other files, which decide about types and classes as well. Throws
  // source_error() where one file lies in folders of other columns than another.
  PartitionColumns(const std::filesystem::path& root,
                   const std::vector<std::vector<std::filesystem::path>>& files,
                   const std::vector<RowColumn>& own, const RowOptions& options,
                   const PartitionTexts& all = {});

  const std::vector<RowColumn>& columns() const { return columns_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Of all rows of a file: a value for each column, null before.
  void set(size_t split, size_t file, std::span<RowValue> values) const;

 private:
  struct Value {
    bool is_null = true;
    std::string text;
    int64_t number = 0;
  };
  void settle(size_t column, const RowOptions& options, const PartitionTexts& all);

  std::vector<RowColumn> columns_;
  std::vector<std::string> notes_;
  std::vector<std::vector<std::vector<Value>>> values_;  // by split, file and column
};

}  // namespace ffkit
