// ShardFile: what ShardReader needs of a file, whichever version of the format it is in.
// Implementations are immutable once made, and all functions are thread-safe.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/format/record_location.h>
#include <ffkit/format/schema.h>
#include <ffkit/format/shard_facts.h>

#include "base/bytes/pickle.h"
#include "base/make_error.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

// What RecordUnpacker keeps from record to record.
struct UnpackBuffers {
  std::vector<std::byte> record;
  std::vector<std::byte> read_anew;  // in place of what was read and is damaged
  Pickle pickle;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd{nullptr,
                                                            ZSTD_freeDCtx};  // made when needed
};

class ShardFile {
 public:
  virtual ~ShardFile() = default;

  virtual const std::filesystem::path& path() const = 0;
  // Of the open file, which stays open as long as this is.
  virtual std::shared_ptr<const RandomReader> reader() const = 0;
  virtual const Schema& schema() const = 0;
  virtual ShardFacts facts() const = 0;
  // Of facts(), without opening the file.
  virtual ShardSummary summary() const { return facts(); }
  // False: it may be closed between two calls.
  virtual bool is_kept_open() const noexcept { return true; }
  // Without opening the file.
  virtual bool is_local() const { return reader()->descriptor() >= 0; }

  // `record` is in range. The location is checked: it lies within the file, and its lengths are
  // within the format's bounds and the reader's.
  virtual RecordLocation locate(int64_t record) const = 0;
  // Has what locate(record) reads fetched, without waiting.
  virtual void will_locate(int64_t /*record*/) const {}
  // RecordUnpacker::unpack without the checksum.
  virtual std::span<const std::byte> unpack(int64_t record, const RecordLocation& where,
                                            std::span<const std::byte> stored,
                                            UnpackBuffers& buffers) const = 0;
  // One number of the field's dtype a record, for a scalar field with column: true.
  virtual std::vector<std::byte> scalar_column(size_t field) const = 0;
  virtual std::vector<std::string> string_column(size_t field) const = 0;
  // The payload of an index stream; empty where there is none of that name.
  virtual std::vector<std::byte> stream(const std::string& /*name*/) const { return {}; }
  // Everything but the records.
  virtual std::vector<ShardProblem> verify_index() const = 0;
};

// Whether the record is no longer than max_record_bytes.
bool fits(const RecordLocation& where, const ShardReaderOptions& limits);
// Throws Error(unsupported) when it is longer.
void require_record_fits(const RecordLocation& where, int64_t record,
                         const std::filesystem::path& file, const ShardReaderOptions& limits);

uint32_t checksum_of(std::span<const std::byte> bytes, Checksum type);
// Whether `stored` are the bytes that the index speaks of; always when it has no checksum for them.
bool has_checksum(const RecordLocation& where, std::span<const std::byte> stored);

// Throws the exception that is being handled again, as rethrow_as_error() does. What is wrong with
// the file is about one sample where the Error names a record, else about the shard.
[[noreturn]] void rethrow_as_shard_error(const std::filesystem::path& path, int64_t record);

// Calls `work` and returns what it returns; its exceptions as rethrow_as_shard_error() has them.
template <typename Work>
auto shard_errors_only(const std::filesystem::path& path, int64_t record, Work&& work)
    -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    rethrow_as_shard_error(path, record);
  }
}

std::unique_ptr<ShardFile> open_v2_file(std::shared_ptr<const RandomReader> file,
                                        const ShardReaderOptions& options);

// Calls `work`, and once more where it finds damaged what a damaged copy on this machine gave it.
template <typename Work>
auto without_damaged_copy(const RandomReader& file, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt || !file.drop_damaged_copy(0, file.size())) throw;
  }
  return work();
}

}  // namespace ffkit
