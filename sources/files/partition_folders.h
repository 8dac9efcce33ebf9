// Folders whose names are values of a column, as Spark, Hive, Arrow and pandas write them:
//
//   label=cat/part-0.parquet         the column `label` is "cat" in all rows of the file
//   train/label=cat/part-0.parquet   the same, by split
//   split=train/part-0.parquet       `split` says the split, where its values are names of splits
//
// Values are as in addresses ("%20" is a space); "__HIVE_DEFAULT_PARTITION__" is null.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files/shard_files.h"

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

}  // namespace ffkit
