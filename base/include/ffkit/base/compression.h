// Compression of records with zstd (FORMAT.md, "Compression").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ffkit {

// How a record's bytes in the file become the record.
enum class Codec : uint8_t {
  none = 0,             // they are the record
  zstd = 1,             // one zstd frame
  zstd_dictionary = 2,  // one zstd frame made with the shard's dictionary
  // never in a shard: a record of an FFRecord v1 file, whose bytes RecordUnpacker gives the form of
  // a record
  v1 = 255,
};

// Longer records are stored as they are.
inline constexpr int64_t kMaxCompressedBytes = 1LL << 30;
inline constexpr int64_t kMaxDictionaryBytes = 16LL << 20;

struct CompressionOptions {
  // zstd's level: 1 (fast) .. 22 (small), -7 .. -1 (faster still); 0: no compression.
  int level = 0;
  // From train_dictionary(), or any zstd dictionary; empty: none.
  std::vector<std::byte> dictionary;
};

// A record as it goes into the file.
struct StoredRecord {
  std::span<const std::byte> bytes;
  uint32_t crc32c = 0;  // of `bytes`
  Codec codec = Codec::none;
};

// Compresses records one after another and keeps its memory between them. Not thread-safe: one per
// thread. A moved-from object can only be destroyed or assigned to.
class RecordCompressor {
 public:
  // Throws Error(invalid_argument) for a level out of range, bytes that are not a dictionary, or a
  // dictionary that is too large.
  explicit RecordCompressor(const CompressionOptions& options);
  ~RecordCompressor();
  RecordCompressor(RecordCompressor&&) noexcept;
  RecordCompressor& operator=(RecordCompressor&&) noexcept;

  // Returns `record` compressed; or `record` itself if compression is off or saves less than one
  // byte in 16, because uncompressed records are read without a copy and field by field. The bytes
  // live until the next call, or as long as `record`.
  StoredRecord compress(std::span<const std::byte> record);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Trains a zstd dictionary of at most `max_bytes` (256 .. 16 MiB) on `samples`, encoded records
// like those to compress; zstd's manual advises a hundred times as many bytes of samples. Helps
// with records of up to some KiB. The same samples give the same dictionary. Throws
// Error(invalid_argument) if there are too few samples or they are too similar.
std::vector<std::byte> train_dictionary(std::span<const std::vector<std::byte>> samples,
                                        int64_t max_bytes);

}  // namespace ffkit
