#include "sources/parquet/row_batches.h"

#include <algorithm>
#include <utility>

#include "format/make_error.h"

namespace ffkit {

ArrowOwner<ArrowArray> next_batch(ArrowArrayStream& stream) {
  ArrowOwner<ArrowArray> array;
  if (stream.get_next(&stream, array.get()) != 0) {
    const char* what = stream.get_last_error(&stream);
    throw error_of(ErrorCode::corrupt, "cannot be read as a parquet file: {}",
                   what == nullptr ? "no reason is given" : what);
  }
  return array;
}

int64_t RowBatches::batch_rows(const RowGroup& group) {
  const int64_t row_bytes =
      std::max<int64_t>(1, group.num_bytes / std::max<int64_t>(1, group.num_rows));
  return std::clamp<int64_t>(kBatchBytes / row_bytes, 1, std::max<int64_t>(1, group.num_rows));
}

std::shared_ptr<RowBatches::OpenGroup> RowBatches::open_group(const std::filesystem::path& path,
                                                              int64_t group) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      open_, [&](const Entry& entry) { return entry.group == group && entry.path == path; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
  } else {
    open_.push_front({path, group, std::make_shared<OpenGroup>()});
    if (open_.size() > kOpenGroups) open_.pop_back();
  }
  return open_.front().open;
}

std::shared_ptr<const RowBatch> RowBatches::find(const std::filesystem::path& path, int64_t group,
                                                 const RowGroup& described, int64_t row) {
  const std::shared_ptr<OpenGroup> open = open_group(path, group);
  const std::lock_guard lock(open->mutex);
  for (const std::shared_ptr<const RowBatch>& batch : open->kept) {
    if (batch->holds(row)) return batch;
  }
  if (!open->stream || row < open->next_row) {
    open->stream = {};
    open->kept.clear();
    open->next_row = 0;
    if (!open->file) open->file = open_parquet_file(path);
    open->stream = open->file->read(group, {}, batch_rows(described));
  }
  while (true) {
    auto batch = std::make_shared<RowBatch>();
    batch->array = next_batch(*open->stream.get());
    if (!batch->array) {
      throw error_of(ErrorCode::corrupt, "row group {} ends after {} of {} rows", group,
                     open->next_row, described.num_rows);
    }
    batch->first_row = open->next_row;
    open->next_row += batch->array->length;
    open->kept.push_back(batch);
    if (open->kept.size() > kKeptBatches) open->kept.pop_front();
    if (batch->holds(row)) return batch;
  }
}

}  // namespace ffkit
