// RowBatches: the batches of rows of many files that Arrow reads, of which the last ones are kept.
// Rows are read from front to back: fast in their order alone, and with bounded memory whatever the
// size of a group is. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include <ffkit/base/error.h>
#include <ffkit/sources/arrow_c.h>
#include <ffkit/sources/arrow_file.h>

namespace ffkit {

// Rows that follow one another in a group.
struct RowBatch {
  ArrowOwner<ArrowArray> array;  // a struct of all columns
  int64_t first_row = 0;         // in the group

  bool holds(int64_t row) const { return row >= first_row && row < first_row + array->length; }
};

class RowBatches {
 public:
  // The most rows of a batch of this group: about kBatchBytes.
  static int64_t batch_rows(const RowGroup& group);

  using Open = std::function<std::unique_ptr<ArrowFile>()>;

  // The batch with row `row` of group `group` of a file, which `open` opens. Throws as ArrowFile,
  // Error(corrupt) for a group with fewer or more than described.num_rows. Rows behind a damaged
  // batch cannot be had: which ones follow it is not known.
  std::shared_ptr<const RowBatch> find(const std::filesystem::path& path, int64_t group,
                                       const RowGroup& described, int64_t row, const Open& open);

 private:
  static constexpr int64_t kBatchBytes = 16 << 20;
  static constexpr size_t kKeptBatches = 4;  // of a group
  static constexpr size_t kOpenGroups = 4;

  // A group that is read from front to back.
  struct OpenGroup {
    std::mutex mutex;
    std::unique_ptr<ArrowFile> file;
    ArrowOwner<ArrowArrayStream> stream;  // of `file`; goes first
    int64_t next_row = 0;
    std::optional<Error> damage;  // of the batch from `damaged_row` on
    int64_t damaged_row = 0;
    std::deque<std::shared_ptr<const RowBatch>> kept;
  };
  struct Entry {
    std::filesystem::path path;
    int64_t group = 0;
    std::shared_ptr<OpenGroup> open;
  };

  // The next batch of a group, checked against the number of rows that it should have.
  static std::shared_ptr<const RowBatch> read_batch(OpenGroup& open, int64_t group,
                                                    int64_t num_rows);
  std::shared_ptr<OpenGroup> open_group(const std::filesystem::path& path, int64_t group);

  std::mutex mutex_;
  std::list<Entry> open_;  // the last used one first
};

// "cannot be read as a parquet file: no footer". `why` may be null.
Error unreadable_arrow(ArrowFormat format, const char* why);

// The next batch of a stream of a file; without an array at its end. Throws Error(corrupt).
ArrowOwner<ArrowArray> next_batch(ArrowFormat format, ArrowArrayStream& stream);

}  // namespace ffkit
