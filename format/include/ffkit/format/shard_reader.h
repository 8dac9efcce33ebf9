// ShardReader: random access to the records of one shard file: an ffkit shard or an FFRecord v1 file (FORMAT.md).
//
// Opening a shard reads the header, the trailer and the catalog, whatever the number of records. Index
// pages are read and checked when needed; some are kept. (Of a v1 file, the whole header: 12 bytes a record.)
// All const functions are thread-safe. The reader owns its file descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/compression.h>
#include <ffkit/format/schema.h>

namespace ffkit {

enum class Checksum : uint8_t {
  crc32c,
  crc32,  // zlib's; v1 files
  none,   // v1 records without one
};

// Where a record's bytes lie. The loader reads them itself, and RecordUnpacker makes a record of them.
struct RecordLocation {
  int64_t offset = 0;        // of the first byte, in the shard file
  int64_t stored_bytes = 0;  // in the file; may be 0 in v1 files
  int64_t raw_bytes =
      0;  // of the record, decompressed; equal to stored_bytes for Codec::none, at least the length for Codec::v1
  uint32_t checksum = 0;  // of the stored bytes
  Checksum checksum_type = Checksum::crc32c;
  Codec codec = Codec::none;
};

// What a check found wrong.
struct ShardProblem {
  int64_t record = -1;  // -1: not a record but the index or a column
  int64_t offset = -1;
  std::string message;  // one sentence with file, record and offset
};

// What is known of a shard without looking at its records.
struct ShardFacts {
  int version = 2;  // of the format: 1 or 2
  int64_t num_records = 0;
  int64_t file_bytes = 0;
  int64_t record_bytes = 0;   // sum of the stored lengths
  int64_t raw_bytes = 0;      // sum of the lengths before compression; record_bytes for v1
  uint32_t alignment = 4096;  // 1 for v1
  uint32_t checksum =
      0;  // identifies the content: the catalog's CRC-32C, or the header's CRC-32 of a v1 file
  int64_t dictionary_bytes = 0;    // 0: none
  std::array<uint8_t, 16> uuid{};  // 0 for v1
  std::string warning;             // something the user should know, or empty
};

struct ShardReaderOptions {
  // Memory for pages of the index: beyond it, looking a record up reads 4 KiB again. 1 MiB serves 32,512 records. At least 4 KiB.
  int64_t index_cache_bytes = 1 << 20;
};

class ShardFile;
class RecordUnpacker;

class ShardReader {
 public:
  // Throws Error(not_found) when there is no such file, Error(corrupt) when it is not a whole
  // shard nor a v1 file, Error(unsupported) when it was written by a newer version.
  explicit ShardReader(const std::filesystem::path& path, const ShardReaderOptions& options = {});
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;

  const std::filesystem::path& path() const;
  const Schema& schema() const;
  ShardFacts facts() const;
  int64_t num_records() const { return num_records_; }

  // `record` is 0 .. num_records()-1 (Error(invalid_argument) otherwise). Throws Error(corrupt)
  // when the index page is damaged.
  RecordLocation locate(int64_t record) const;
  // Reads one record into `out` (resized to fit), for RecordView: checks its checksum and decompresses it. Throws Error(corrupt) or
  // Error(io).
  void read(int64_t record, std::vector<std::byte>& out) const;
  // The same for one record after another, without copies: the result lies in `buffer` or in `unpacker` and lives until their next use.
  std::span<const std::byte> read(int64_t record, std::vector<std::byte>& buffer,
                                  RecordUnpacker& unpacker) const;
  // Reads one field (its position in the schema) of one record into `out`, for FieldView, and checks the field's checksum. Of a record with
  // Codec::none only the field table and the field's bytes are read. Returns false when the field is null.
  bool read_field(int64_t record, size_t field, std::vector<std::byte>& out) const;

  // Tells the kernel that these bytes of the file will be read, so that it fetches what the page cache lacks. A hint that does not wait.
  void announce(int64_t offset, int64_t num_bytes) const noexcept;

  // A whole column; throws Error(not_found) when the field has none, Error(invalid_argument) when
  // its type is another. Null values read as 0.
  std::vector<int64_t> int_column(const std::string& field) const;   // integer dtypes
  std::vector<double> float_column(const std::string& field) const;  // floating-point dtypes
  std::vector<std::string> string_column(const std::string& field) const;

  // Check everything but the records: every page of the index, every column.
  std::vector<ShardProblem> verify_index() const;
  // Checks one record: its checksum, its table, its fields' checksums.
  std::optional<ShardProblem> verify_record(int64_t record) const;
  // Both, for all records. Returns all that is wrong.
  std::vector<ShardProblem> verify() const;

  // Private to the library: a file that is already open.
  explicit ShardReader(std::unique_ptr<ShardFile> file);

 private:
  friend class RecordUnpacker;
  std::unique_ptr<ShardFile> file_;
  int64_t num_records_ = 0;
};

}  // namespace ffkit
