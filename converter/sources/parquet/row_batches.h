// RowBatches: the batches of rows of many parquet files, of which the last ones are kept.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>

#include <ffkit/converter/arrow_c.h>
#include <ffkit/converter/parquet_file.h>

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

  // The batch with row `row` of group `group` of a file. Throws as ParquetFile, Error(corrupt) for
  // a group that ends before.
  std::shared_ptr<const RowBatch> find(const std::filesystem::path& path, int64_t group,
                                       const RowGroup& described, int64_t row);

 private:
  static constexpr int64_t kBatchBytes = 16 << 20;
  static constexpr size_t kKeptBatches = 4;  // of a group
  static constexpr size_t kOpenGroups = 4;

  // A group that is read from front to back.
  struct OpenGroup {
    std::mutex mutex;
    std::unique_ptr<ParquetFile> file;
    ArrowOwner<ArrowArrayStream> stream;  // of `file`; goes first
    int64_t next_row = 0;
    std::deque<std::shared_ptr<const RowBatch>> kept;
  };
  struct Entry {
    std::filesystem::path path;
    int64_t group = 0;
    std::shared_ptr<OpenGroup> open;
  };

  std::shared_ptr<OpenGroup> open_group(const std::filesystem::path& path, int64_t group);

  std::mutex mutex_;
  std::list<Entry> open_;  // the last used one first
};

// The next batch of a stream; without an array at its end. Throws Error(corrupt).
ArrowOwner<ArrowArray> next_batch(ArrowArrayStream& stream);

}  // namespace ffkit
