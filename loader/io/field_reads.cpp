#include "io/field_reads.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "format/dataset/fetch_ahead.h"
#include "format/record/record_layout.h"

namespace ffkit {
namespace {

constexpr int64_t kPageBytes = 4096;
// A shorter record costs hardly more than its head and one page.
constexpr int64_t kMinRecordBytes = 4 * kPageBytes;
// So many tables decide; an eighth less to read pays for the second read.
constexpr int kNumTables = 32;
constexpr int64_t kMinShareLeftOut = 8;

}  // namespace

FieldReads::FieldReads(const Dataset& dataset, std::optional<std::vector<bool>> readable)
    : dataset_(dataset), readable_(std::move(readable)) {
  const auto table = static_cast<int64_t>(table_bytes(dataset.schema().fields.size()));
  head_bytes_ = (table + kPageBytes - 1) / kPageBytes * kPageBytes;
  is_on_ =
      readable_ && !std::ranges::all_of(*readable_, std::identity()) && has_local_shards(dataset);
}

bool FieldReads::splits(const RecordLocation& record) const {
  if (!is_on_ || record.codec != Codec::none) return false;
  if (record.stored_bytes < kMinRecordBytes || record.stored_bytes < 2 * head_bytes_) return false;
  return num_tables_ < kNumTables || (all_bytes_ - wanted_bytes_) * kMinShareLeftOut >= all_bytes_;
}

RecordView FieldReads::view(int64_t record_index, std::span<const std::byte> record) const {
  return {dataset_.schema(), record, dataset_.name(record_index),
          dataset_.field_mapping(record_index), readable()};
}

std::vector<FieldReads::Range> FieldReads::rest(int64_t record_index,
                                                std::span<const std::byte> record) {
  static_cast<void>(view(record_index, record));  // the table fits
  const FieldMapping* mapping = dataset_.field_mapping(record_index);
  const size_t num_fields =
      (mapping == nullptr ? dataset_.schema() : mapping->stored).fields.size();
  std::vector<Range> ranges;
  for (size_t i = 0; i < readable_->size(); ++i) {
    const int64_t position = mapping == nullptr ? static_cast<int64_t>(i) : mapping->positions[i];
    if (!(*readable_)[i] || position < 0) continue;
    const FieldPlace place = place_of_field(record, num_fields, static_cast<size_t>(position));
    const Range range{std::max(static_cast<int64_t>(place.begin), head_bytes_),
                      static_cast<int64_t>(place.end)};
    if (range.begin < range.end) ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> merged;
  int64_t wanted_bytes = head_bytes_;
  for (const Range& range : ranges) {
    if (merged.empty() || range.begin - merged.back().end >= kPageBytes) {
      merged.push_back(range);
    } else {
      merged.back().end = range.end;
    }
  }
  for (const Range& range : merged) wanted_bytes += range.end - range.begin;
  if (num_tables_ < kNumTables) {
    ++num_tables_;
    wanted_bytes_ += wanted_bytes;
    all_bytes_ += std::ssize(record);
  }
  return merged;
}

void FieldReads::verify(int64_t record_index, std::span<const std::byte> record) const {
  view(record_index, record).verify_readable();
}

}  // namespace ffkit
