// Parquet files that are converted by groups (ConvertOptions::by_files): what the first group, and
// the names of all folders, say of the columns of the others.
#pragma once

#include <filesystem>
#include <vector>

#include <ffkit/converter/source.h>

#include "parquet/parquet_columns.h"
#include "parquet/partition_columns.h"

namespace ffkit {

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
