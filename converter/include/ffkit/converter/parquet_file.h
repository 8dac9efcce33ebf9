// ParquetFile: one parquet file, by whatever reads such files in this process: the module
// (module/parquet_module.h), or Python's pyarrow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/arrow_c.h>

namespace ffkit {

struct RowGroup {
  int64_t num_rows = 0;
  int64_t num_bytes = 0;  // of its columns, without compression
};

// Not thread-safe. All functions throw Error(corrupt) for a damaged file, Error(io), without a
// path.
class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  virtual ArrowOwner<ArrowSchema> schema() = 0;
  virtual std::vector<RowGroup> groups() = 0;
  // The rows of a group in batches of `batch_rows` at most. `columns`: names of top-level ones, in
  // their order; empty: all.
  // The file must outlive the stream.
  virtual ArrowOwner<ArrowArrayStream> read(int64_t group, const std::vector<std::string>& columns,
                                            int64_t batch_rows) = 0;
};

// The bytes of a file of a disk or a store. Of a store, those behind a read are fetched ahead.
class ParquetInput {
 public:
  virtual ~ParquetInput() = default;
  virtual int64_t size() const = 0;
  // As InputFile::read_at().
  virtual void read_at(int64_t offset, std::span<std::byte> out) const = 0;
};
std::unique_ptr<ParquetInput> open_parquet_input(const std::filesystem::path& path);

using OpenParquet = std::function<std::unique_ptr<ParquetFile>(const std::filesystem::path& path)>;

// Files are read by `open` from then on, not by the module. Thread-safe.
void set_parquet_opener(OpenParquet open);

// Throws Error(unsupported) where nothing reads parquet files, with a remedy.
std::unique_ptr<ParquetFile> open_parquet_file(const std::filesystem::path& path);

}  // namespace ffkit
