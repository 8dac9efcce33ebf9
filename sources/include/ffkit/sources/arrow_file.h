// ArrowFile: a file that Arrow's library reads, through the module (module/parquet_module.h) or
// Python's pyarrow.
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
  // The row groups of a parquet file. An IPC file is one group, number 0, of unknown size: {0, 0}.
  virtual std::vector<RowGroup> groups() = 0;
  // The rows of a group. Parquet: in batches of at most `batch_rows`, only the top-level columns
  // `columns`, in their order; empty: all. IPC: in the batches of the file, after a check of their
  // offsets and lengths; `columns` is empty. The file must outlive the stream.
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

// Throws Error(unsupported) with a remedy if nothing can read such files; Error(corrupt) for a
// damaged one. Errors have no path.
std::unique_ptr<ArrowFile> open_arrow_file(std::unique_ptr<ArrowInput> input, ArrowFormat format);
// Opens a parquet file, or an Arrow file or stream, on a disk or in a store. If the name does not
// end like a parquet file's, the first bytes tell the form. In a store, the following bytes are
// fetched ahead.
std::unique_ptr<ArrowFile> open_table_file(const std::filesystem::path& path);

}  // namespace ffkit
