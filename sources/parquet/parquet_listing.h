// Which parquet files are at a path, and what the end of one says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/sources/arrow_file.h>
#include <ffkit/sources/row_sources.h>

#include "arrow/arrow_columns.h"
#include "files/file_group.h"
#include "files/shard_files.h"
#include "parquet/partitions.h"
#include "rows/row_table.h"

namespace ffkit {

// ParquetColumns: the columns of many parquet files as those of one table. Files agree by the names
// of their columns; where the values are in a file's arrays is known for each file.
//
//   all files of a split     the same columns, in any order, of the same types; a column of type
//                            null has nothing, whatever the others have there
//   another split            may lack columns, or have more: what it lacks is null there
//   pandas' own index        __index_level_0__ is left out where some files lack it
//   Hugging Face's metadata  may be in some files alone

class ParquetColumns {
 public:
  // As if a file with these columns had been there: all that come must fit to it.
  void begin_with(std::vector<ArrowColumn> columns);
  // Of a file with rows; files in the order of their splits. Throws source_error() for columns that
  // are not those of the files before, or have other names of classes.
  void add_file(ArrowColumns columns, const std::filesystem::path& path, size_t split, size_t file);
  // Once all files are there: what was left out, one sentence each.
  std::vector<std::string> finish(const std::filesystem::path& path);

  std::vector<ArrowColumn>& columns() { return columns_; }
  const std::vector<ArrowColumn>& columns() const { return columns_; }
  void erase(size_t column);

  // Null where the file lacks the column, or has no rows.
  const ArrowPlace* place(size_t split, size_t file, size_t column) const;
  // Whether no file of the split has it.
  bool lacks(size_t split, size_t column) const;

 private:
  using Layout = std::vector<std::optional<ArrowPlace>>;  // by column, or shorter
  struct First {
    std::filesystem::path path;
    std::vector<bool> has;  // by column
    std::vector<ArrowLeftOut> left_out;
  };

  size_t match(ArrowColumn& column, const std::filesystem::path& path);
  void compare_with_split(const Layout& layout, const std::vector<ArrowLeftOut>& left_out,
                          size_t split, const std::filesystem::path& path);

  std::vector<ArrowColumn> columns_;
  std::vector<std::filesystem::path> first_files_;  // that have the column
  std::vector<size_t> num_files_;                   // that have the column
  std::vector<Layout> layouts_;                     // without equals
  std::vector<std::vector<std::ptrdiff_t>> files_;  // by split and file: a layout; -1: none
  std::vector<First> firsts_;                       // by split: its first file
  std::vector<ArrowLeftOut> left_out_;
  std::vector<std::pair<size_t, ArrowLeftOut>> null_lists_;  // by layout
  size_t num_all_ = 0;                                       // files
};

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

// ParquetRows: the table of parquet files. A row is read with those beside it: groups of rows are
// read in batches from front to back, and the last batches are kept. So memory is bounded whatever
// the size of a group is, and rows are fast in their order alone.

// Throws as open_parquet().
std::unique_ptr<RowTable> list_parquet_rows(const std::filesystem::path& path,
                                            const RowOptions& options);

}  // namespace ffkit
