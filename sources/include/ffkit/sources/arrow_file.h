// ArrowFile: one file that Arrow's library reads, by whatever has that library in this process: the
// module (module/parquet_module.h), or Python's pyarrow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/sources/arrow_c.h>

namespace ffkit {

enum class ArrowFormat : uint8_t {
  parquet,
  ipc,  // Arrow's own: a file of batches, or a stream of them
};
// "parquet files", "Arrow tables".
std::string_view to_string(ArrowFormat format);

struct RowGroup {
  int64_t num_rows = 0;
  int64_t num_bytes = 0;  // of its columns, without compression
};

// Not thread-safe. All functions throw Error(corrupt) for a damaged file, Error(io), without a
// path.
class ArrowFile {
 public:
  virtual ~ArrowFile() = default;
  virtual ArrowFormat format() const = 0;
  virtual ArrowOwner<ArrowSchema> schema() = 0;
  // Of parquet. An IPC file is one group, number 0, and says of it nothing beforehand: {0, 0}.
  virtual std::vector<RowGroup> groups() = 0;
  // The rows of a group. Parquet: in batches of `batch_rows` at most, of the top-level columns
  // `columns`, in their order; empty: all. IPC: in the batches that the file has, whose offsets and
  // lengths were checked; `columns` is empty. The file must outlive the stream.
  virtual ArrowOwner<ArrowArrayStream> read(int64_t group, const std::vector<std::string>& columns,
                                            int64_t batch_rows) = 0;
};

// The bytes of a file. Thread-safe.
class ArrowInput {
 public:
  virtual ~ArrowInput() = default;
  virtual int64_t size() const = 0;
  // As InputFile::read_at().
  virtual void read_at(int64_t offset, std::span<std::byte> out) const = 0;
};

using OpenArrow = std::function<std::unique_ptr<ArrowFile>(std::unique_ptr<ArrowInput> input,
                                                           ArrowFormat format)>;

// Files are read by `open` from then on, not by the module. Thread-safe.
void set_arrow_opener(OpenArrow open);

// Throws Error(unsupported) without a path, with a remedy, where nothing reads such files;
// Error(corrupt) for a damaged one.
std::unique_ptr<ArrowFile> open_arrow_file(std::unique_ptr<ArrowInput> input, ArrowFormat format);
// A parquet file of a disk or a store, or an Arrow file or stream, which the first bytes tell where
// its name does not end as a parquet file's. Of a store, the bytes behind a read are fetched ahead.
std::unique_ptr<ArrowFile> open_table_file(const std::filesystem::path& path);

}  // namespace ffkit
