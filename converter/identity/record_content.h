// The files that a record was made from, as a sum and as their bytes (format/content_sum.h).
//
//   files of a record   its fields of type image and bytes, and the items of such lists; a dct code
//                       is the JPEG that it stands for
//   without any         all of the record: its numbers and texts, the id included
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/image/dct_picture.h>

namespace ffkit {

// Whether records of `schema` may have files.
bool has_files(const Schema& schema);

// Keeps its memory from record to record. Not thread-safe: one per thread.
class RecordContent {
 public:
  // `schema` must outlive it.
  explicit RecordContent(const Schema& schema) : schema_(schema) {}

  // What a shard keeps of `record`, made as `buffers` say: {0, 0} where the record tells it.
  ContentSum kept(std::span<const std::byte> record, const SampleBuffers& buffers);
  // As the record of a shard tells it. Where it is not compressed, reads the table of its fields,
  // and those that are dct codes or lists. Throws as ShardReader::read().
  ContentSum told(const ShardReader& shard, int64_t record);
  // The lengths and the bytes of all files.
  std::vector<std::byte> bytes(const ShardReader& shard, int64_t record);

 private:
  std::span<const std::byte> file_of(std::span<const std::byte> stored);
  ContentSum told_by_table(const ShardReader& shard, int64_t record, const RecordLocation& where,
                           bool& is_told);
  ContentSum told_by_record(std::span<const std::byte> record,
                            std::span<const SampleBuffers::Original> originals, bool& has_dct);

  const Schema& schema_;
  RecordUnpacker unpacker_;
  DctTranscoder transcoder_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> jpeg_;
};

}  // namespace ffkit
