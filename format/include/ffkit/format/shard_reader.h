// ShardReader: random access to the records of one shard file: an ffkit shard or an FFRecord v1
// file (FORMAT.md).
//
// Opening a shard reads only the header, the trailer and the catalog (of a v1 file, the whole
// header: 12 bytes per record). Index pages are read and checked when needed; some are kept. A
// shard of a large Dataset is opened when it is needed; errors of opening come from the function
// that needs it. All const functions are thread-safe. The reader owns its file descriptor. A
// moved-from object can only be destroyed or assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/base/option_names.h>
#include <ffkit/format/record_location.h>
#include <ffkit/format/schema.h>
#include <ffkit/format/shard_facts.h>

namespace ffkit {

class RandomReader;
class ShardFile;
class RecordUnpacker;

class ShardReader {
 public:
  // Throws Error(not_found) if there is no such file, Error(corrupt) if it is neither a complete
  // shard nor a v1 file, Error(unsupported) if a newer version wrote it.
  explicit ShardReader(const std::filesystem::path& path, const ShardReaderOptions& options = {});
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const Schema& schema() const;
  [[nodiscard]] ShardFacts facts() const;
  // Of facts(), as the manifest has it: a shard that is opened when it is needed stays closed.
  [[nodiscard]] ShardSummary summary() const;
  // The open file, for unaligned reads by pread(2) through the page cache. The reader owns it and
  // its flags; it stays open while `reader` exists.
  struct OpenFile {
    int descriptor = -1;  // -1: the bytes are not in a local file
    std::shared_ptr<const RandomReader> reader;
    // Without a descriptor: whether an announced fetch will bring these bytes into the cache.
    // Reading them now would fetch them a second time, or wait.
    bool is_coming = false;

    // Reads exactly out.size() bytes; does not wait if the shard is not in a local file. `done` is
    // called once, on any thread, with null or the Error; `out` must stay until then.
    void read(int64_t offset, std::span<std::byte> out,
              std::function<void(std::exception_ptr)> done) const;
  };
  // Opens the shard if needed, like the functions that read. If the shard is in a store and the
  // cache has these bytes, the descriptor is that of the cache, with the same offsets.
  [[nodiscard]] OpenFile open_file(int64_t offset = 0, int64_t num_bytes = 0) const;
  // False: it is opened when it is needed, and may be closed between two calls
  // (ShardReaderOptions::max_open_shards).
  [[nodiscard]] bool is_kept_open() const noexcept;
  // False: it is in a store.
  [[nodiscard]] bool is_local() const;
  // As opened with.
  [[nodiscard]] const ShardReaderOptions& options() const noexcept { return options_; }
  [[nodiscard]] int64_t num_records() const noexcept { return num_records_; }

  // `record` is 0 .. num_records()-1 (Error(invalid_argument) otherwise). Throws Error(corrupt)
  // when the index page is damaged, Error(unsupported) when the record is longer than
  // ShardReaderOptions::max_record_bytes.
  [[nodiscard]] RecordLocation locate(int64_t record) const;
  // Hint to the kernel that locate(record) will read a page of the index, unless this page was read
  // or announced before. Does not wait. Precondition: `record` is 0 .. num_records()-1.
  void will_locate(int64_t record) const;
  // Reads one record into `out` (resized to fit), for RecordView: checks its checksum and
  // decompresses it. Throws Error(corrupt) or Error(io).
  void read(int64_t record, std::vector<std::byte>& out) const;
  // The same for one record after another, without copies: the result is in `buffer` or in
  // `unpacker` and lives until their next use.
  std::span<const std::byte> read(int64_t record, std::vector<std::byte>& buffer,
                                  RecordUnpacker& unpacker) const;
  // Reads one field (its position in the schema) of one record into `out`, for FieldView, and
  // checks the field's checksum. If the record has Codec::none, only the field table and the
  // field's bytes are read. Returns false if the field is null.
  bool read_field(int64_t record, size_t field, std::vector<std::byte>& out) const;

  // Hint to the kernel that these bytes of the file will be read, so that it fetches them into the
  // page cache. Does not wait.
  void announce(int64_t offset, int64_t num_bytes) const noexcept;

  // A whole column; throws Error(not_found) if the field has none, Error(invalid_argument) if it
  // has another type. Null values are 0. Integer dtypes; Error(invalid_argument) for a u64 that
  // does not fit into int64_t.
  [[nodiscard]] std::vector<int64_t> int_column(const std::string& field) const;
  [[nodiscard]] std::vector<uint64_t> uint_column(const std::string& field) const;  // u8 .. u64
  [[nodiscard]] std::vector<double> float_column(
      const std::string& field) const;  // floating-point dtypes
  [[nodiscard]] std::vector<std::string> string_column(const std::string& field) const;

  // The checked payload of the index stream `name` (FORMAT.md, "Index streams"); empty if the shard
  // has no such stream, or is a v1 file.
  [[nodiscard]] std::vector<std::byte> stream(const std::string& name) const;

  // Check everything but the records: every page of the index, every column.
  [[nodiscard]] std::vector<ShardProblem> verify_index() const;
  // Checks one record: its checksum, its table, the checksums of its fields, and the sizes of
  // tensors, lists and scalars.
  [[nodiscard]] std::optional<ShardProblem> verify_record(
      int64_t record, OptionStyle style = OptionStyle::field) const;
  // Both, for all records. Returns all that is wrong.
  [[nodiscard]] std::vector<ShardProblem> verify() const;

 private:
  friend class RecordUnpacker;
  friend ShardReader reader_of(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options);
  ShardReader(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options);
  bool read_field_of_record(int64_t record, size_t field, std::vector<std::byte>& out) const;

  std::unique_ptr<ShardFile> file_;
  ShardReaderOptions options_;
  int64_t num_records_ = 0;
};

}  // namespace ffkit
