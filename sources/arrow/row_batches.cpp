#include "arrow/row_batches.h"

#include <algorithm>
#include <string>

#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {

Error unreadable_arrow(ArrowFormat format, const char* why) {
  return error_of(ErrorCode::corrupt, "the file cannot be read as {}: {}",
                  format == ArrowFormat::parquet ? "a parquet file" : "an Arrow table",
                  why == nullptr ? "no reason is given" : printable(why));
}

ArrowOwner<ArrowArray> next_batch(ArrowFormat format, ArrowArrayStream& stream) {
  ArrowOwner<ArrowArray> array;
  if (stream.get_next(&stream, array.get()) != 0) {
    throw unreadable_arrow(format, stream.get_last_error(&stream));
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

std::shared_ptr<const RowBatch> RowBatches::read_batch(OpenGroup& open, int64_t group,
                                                       int64_t num_rows) {
  const ArrowFormat format = open.file->format();
  const auto other_count = [&](const std::string& what) {
    return error_of(ErrorCode::corrupt, "{} {}; get the file again",
                    format == ArrowFormat::parquet ? fmt::format("row group {}", group)
                                                   : std::string("the Arrow table"),
                    what);
  };
  auto batch = std::make_shared<RowBatch>();
  batch->array = next_batch(format, *open.stream.get());
  batch->first_row = open.next_row;
  if (!batch->array) {
    throw other_count(
        fmt::format("ends after {} rows, but must have {} rows", open.next_row, num_rows));
  }
  const int64_t next_row = open.next_row + batch->array->length;
  bool has_more = next_row > num_rows;
  if (next_row == num_rows) {
    const ArrowOwner<ArrowArray> more = next_batch(format, *open.stream.get());
    has_more = more && more->length > 0;
  }
  if (has_more) {
    throw other_count(fmt::format("must have {} rows, but has more", num_rows));
  }
  open.next_row = next_row;
  return batch;
}

std::shared_ptr<const RowBatch> RowBatches::find(const std::filesystem::path& path, int64_t group,
                                                 const RowGroup& described, int64_t row,
                                                 const Open& open_file) {
  const std::shared_ptr<OpenGroup> open = open_group(path, group);
  const std::lock_guard lock(open->mutex);
  for (const std::shared_ptr<const RowBatch>& batch : open->kept) {
    if (batch->holds(row)) return batch;
  }
  if (open->damage && row >= open->damaged_row) throw Error(*open->damage);
  if (!open->stream || row < open->next_row) {
    open->stream = {};
    open->kept.clear();
    open->next_row = 0;
    if (!open->file) open->file = open_file();
    open->stream = open->file->read(group, {}, batch_rows(described));
  }
  try {
    while (true) {
      auto batch = read_batch(*open, group, described.num_rows);
      open->kept.push_back(batch);
      if (open->kept.size() > kKeptBatches) open->kept.pop_front();
      if (batch->holds(row)) return batch;
    }
  } catch (const Error& error) {
    // A stream that has failed may go on behind the batch, and would give others' rows.
    open->stream = {};
    if (error.code() == ErrorCode::corrupt) {
      open->damage = error;
      open->damaged_row = open->next_row;
    }
    throw;
  }
}

}  // namespace ffkit
