// Which parquet files are at a path, and what the end of one says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/sources/arrow_file.h>

#include "arrow/arrow_columns.h"
#include "files/file_group.h"
#include "files/shard_files.h"
#include "parquet/parquet_columns.h"
#include "parquet/partitions.h"

namespace ffkit {

// As find_shards(); also folders of values (partitions.h). Files and folders that begin with
// '_' are none, as for Spark and Arrow.
ShardListing list_parquet_files(const std::filesystem::path& path);

// What the end of a file says.
struct ParquetHead {
  FileStamp stamp;
  ArrowColumns columns;
  std::vector<RowGroup> groups;
};

// A row group, in the order of its split.
struct ListedGroup {
  RowGroup described;
  size_t file = 0;
  int64_t number = 0;         // in the file
  int64_t first_row = 0;      // in the split
  int64_t first_in_file = 0;  // the same, in the file
};

struct ParquetSplit {
  std::vector<std::filesystem::path> files;
  std::vector<FileStamp> stamps;
  std::vector<ListedGroup> groups;
};

// Throws source_error(): unsupported for a file that is something else, by its name.
ParquetHead read_parquet_head(const std::filesystem::path& path);

// Parquet files that are converted by groups (ConvertOptions::by_files): what the first group, and
// the names of all folders, say of the columns of the others.

struct FoundParquet {
  PartitionTexts partitions;              // of all files
  std::vector<ArrowColumn> columns = {};  // of the first group, as the files' ends have them
  std::vector<ArrowColumn> settled = {};  // as their rows have told; empty: not known yet
};

// Makes of columns that are as the files' ends have them what the first group's have become.
void settle_as(const FoundParquet& found, ParquetColumns& columns);

// All files, with FileListing::found.
FileListing list_parquet_source(const std::filesystem::path& path);

}  // namespace ffkit
