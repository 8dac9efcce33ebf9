// ParquetColumns: the columns of many parquet files as those of one table. Files agree by the names
// of their columns; where the values are in a file's arrays is known for each file.
//
//   all files of a split     the same columns, in any order, of the same types
//   another split            may lack columns, or have more: what it lacks is null there
//   pandas' own index        __index_level_0__ is left out where some files lack it
//   Hugging Face's metadata  may be in some files alone
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "arrow/arrow_columns.h"

namespace ffkit {

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
  };

  size_t match(ArrowColumn& column, const std::filesystem::path& path);
  void compare_with_split(const Layout& layout, size_t split, const std::filesystem::path& path);

  std::vector<ArrowColumn> columns_;
  std::vector<std::filesystem::path> first_files_;  // that have the column
  std::vector<size_t> num_files_;                   // that have the column
  std::vector<Layout> layouts_;                     // without equals
  std::vector<std::vector<std::ptrdiff_t>> files_;  // by split and file: a layout; -1: none
  std::vector<First> firsts_;                       // by split: its first file
  std::vector<std::string> left_out_;
  size_t num_all_ = 0;  // files
};

}  // namespace ffkit
