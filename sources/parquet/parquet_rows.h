// ParquetRows: the table of parquet files. A row is read with those beside it: groups of rows are
// read in batches from front to back, and the last batches are kept. So memory is bounded whatever
// the size of a group is, and rows are fast in their order alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <ffkit/sources/row_sources.h>

#include "rows/row_table.h"

namespace ffkit {

// Throws as open_parquet().
std::unique_ptr<RowTable> list_parquet_rows(const std::filesystem::path& path,
                                            const RowOptions& options);

}  // namespace ffkit
