// V1Writer: streams records into one FFRecord v1 file (FORMAT.md, "Version 1").
//
//   CRC-32 | number of records N | N checksums | N offsets | records
//
// The header comes before the records, so N must be known beforehand. The file grows under the name
// `path` + ".tmp" and appears as `path` only in finish(), complete and fsynced. A writer that is
// destroyed without finish() removes its temporary file. Holds 12 bytes a record in memory. Not
// thread-safe: one thread at a time. Cannot be moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace ffkit {

// The most records of one file. Its header of 12 bytes a record is then 1 GiB, the default limit of
// readers.
inline constexpr int64_t kMaxV1Records = ((int64_t{1} << 30) - 12) / 12;

class V1Writer {
 public:
  // Creates `path`.tmp, and replaces one left by a crash. Throws Error(invalid_argument) if `path`
  // exists or `num_records` is not 0 .. kMaxV1Records, Error(io) if the file cannot be made.
  V1Writer(std::filesystem::path path, int64_t num_records);
  ~V1Writer();
  V1Writer(const V1Writer&) = delete;
  V1Writer& operator=(const V1Writer&) = delete;

  // Appends one record of any bytes and returns its number. May block on the disk. Throws
  // Error(invalid_argument) after num_records records, Error(io) if writing fails.
  int64_t append(std::span<const std::byte> record);

  // Writes the header, fsyncs, renames to `path` and fsyncs the folder; returns the length of the
  // file. Throws Error(invalid_argument) if records are missing. Call nothing after it.
  int64_t finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ffkit
