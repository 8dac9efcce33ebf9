#include "io/field_reads.h"

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "format/record/record_layout.h"
#include "io/read_plan.h"

namespace ffkit {
namespace {

constexpr int64_t kPageBytes = 4096;
// A shorter record costs hardly more than its head and one page.
constexpr int64_t kMinRecordBytes = 4 * kPageBytes;
// So many tables decide; an eighth less to read pays for the second read.
constexpr int kNumTables = 32;
constexpr int64_t kMinShareLeftOut = 8;

}  // namespace

FieldReads::FieldReads(const Dataset& dataset, const ShardFiles& files,
                       std::optional<std::vector<bool>> readable)
    : dataset_(dataset),
      files_(files),
      readable_(std::move(readable)),
      is_on_(readable_ && !std::ranges::all_of(*readable_, std::identity()) && files.are_local()),
      head_bytes_(round_up(static_cast<int64_t>(table_bytes(dataset.schema().fields.size())),
                           kPageBytes)) {}

bool FieldReads::splits(const RecordLocation& record) const {
  if (!is_on_ || record.codec != Codec::none) return false;
  if (record.stored_bytes < kMinRecordBytes || record.stored_bytes < 2 * head_bytes_) return false;
  return num_tables_ < kNumTables || pays();
}

bool FieldReads::pays() const {
  return (all_bytes_ - wanted_bytes_) * kMinShareLeftOut >= all_bytes_;
}

RecordView FieldReads::view(int64_t record_index, std::span<const std::byte> record) const {
  return {dataset_.schema(), record, dataset_.name(record_index),
          dataset_.field_mapping(record_index), readable()};
}

std::vector<FieldReads::Range> FieldReads::rest(int64_t record_index,
                                                std::span<const std::byte> record) {
  const RecordView fields = view(record_index, record);
  std::vector<Range> ranges;
  for (size_t i = 0; i < readable_->size(); ++i) {
    if (!(*readable_)[i]) continue;
    const std::span<const std::byte> field = fields.raw(i);
    if (field.empty()) continue;  // it may be null in all records, and lie nowhere
    const int64_t begin = field.data() - record.data();
    const Range range{std::max(begin, head_bytes_), begin + std::ssize(field)};
    if (range.begin < range.end) ranges.push_back(range);
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (merged.empty() || range.begin - merged.back().end >= kPageBytes) {
      merged.push_back(range);
    } else {
      merged.back().end = range.end;
    }
  }
  if (num_tables_ < kNumTables) count_table(merged, std::ssize(record));
  return merged;
}

void FieldReads::count_table(const std::vector<Range>& rest, int64_t record_bytes) {
  all_bytes_ += record_bytes;
  wanted_bytes_ += head_bytes_;
  for (const Range& range : rest) wanted_bytes_ += range.end - range.begin;
  if (++num_tables_ < kNumTables || !pays()) return;
  // The kernel would read on behind the fields.
  for (const int descriptor : files_.descriptors()) {
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  }
}

void FieldReads::verify(int64_t record_index, std::span<const std::byte> record) const {
  view(record_index, record).verify_readable();
}

}  // namespace ffkit
