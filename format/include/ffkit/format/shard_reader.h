// ShardReader: random access to the records of one shard file (FORMAT.md).
//
// Opening reads the header, the trailer and the catalog, whatever the number of records. Index
// pages are read, checked and kept when first needed: 32 bytes of memory for each record that was
// looked at, in pages of 127. All const functions are thread-safe. The reader owns its file
// descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit {

// Where a record's bytes lie. The loader reads them itself.
struct RecordLocation {
  int64_t offset = 0;        // of the first byte, in the shard file
  int64_t stored_bytes = 0;  // in the file
  int64_t raw_bytes = 0;     // after decompression; equal to stored_bytes for codec 0
  uint32_t crc32c = 0;       // of the stored bytes
  uint8_t codec = 0;         // 0 = stored as it is
};

// What a full check found wrong.
struct ShardProblem {
  int64_t record = -1;  // -1: not a record but the index or a column
  int64_t offset = -1;
  std::string message;
};

class ShardReader {
 public:
  // Throws Error(not_found) when there is no such file, Error(corrupt) when it is not a whole
  // shard, Error(unsupported) when it was written by a newer major version.
  explicit ShardReader(std::filesystem::path path);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;

  const std::filesystem::path& path() const;
  const Schema& schema() const;
  int64_t num_records() const;
  int64_t file_bytes() const;
  uint32_t alignment() const;
  uint32_t catalog_crc32c() const;
  const std::array<uint8_t, 16>& uuid() const;

  // `record` is 0 .. num_records()-1 (Error(invalid_argument) otherwise). Throws Error(corrupt)
  // when the index page is damaged.
  RecordLocation locate(int64_t record) const;
  // Reads one record into `out` (resized to fit) and checks its CRC; throws Error(corrupt) or
  // Error(io).
  void read(int64_t record, std::vector<std::byte>& out) const;

  // A whole column; throws Error(not_found) when the field has none, Error(invalid_argument) when
  // its type is another. Null values read as 0.
  std::vector<int64_t> int_column(const std::string& field) const;   // integer dtypes
  std::vector<double> float_column(const std::string& field) const;  // f32 and f64
  std::vector<std::string> string_column(const std::string& field) const;

  // Reads everything: every page of the index, every column, every record. Returns all that is
  // wrong.
  std::vector<ShardProblem> verify() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
