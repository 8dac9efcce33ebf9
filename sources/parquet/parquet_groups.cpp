#include "parquet/parquet_groups.h"

#include <algorithm>
#include <string>
#include <utility>

#include "files/file_listing.h"
#include "files/partition_folders.h"
#include "parquet/parquet_listing.h"

namespace ffkit {
namespace {

auto find_column(const std::vector<ArrowColumn>& columns, const std::string& name) {
  return std::ranges::find_if(
      columns, [&](const ArrowColumn& column) { return column.column.field.name == name; });
}

}  // namespace

void settle_as(const FoundParquet& found, ParquetColumns& columns) {
  for (size_t i = columns.columns().size(); i-- > 0;) {
    const std::string name = columns.columns()[i].column.field.name;
    const auto settled = find_column(found.settled, name);
    if (settled != found.settled.end()) {
      columns.columns()[i].column = settled->column;
      columns.columns()[i].empty_shape = settled->empty_shape;
    } else if (find_column(found.columns, name) != found.columns.end()) {
      columns.erase(i);
    }
  }
}

FileListing list_parquet_source(const std::filesystem::path& path) {
  FileListing files = file_listing(list_parquet_files(path));
  FoundParquet found;
  for (const FilesOfSplit& split : files.splits) {
    for (const SourceFile& file : split.files) {
      for (const PartitionValue& one : partition_values(path, file.path)) {
        if (one.value) found.partitions[one.key].insert(*one.value);
      }
    }
  }
  files.found = std::move(found);
  return files;
}

}  // namespace ffkit
