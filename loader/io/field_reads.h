// FieldReads: which bytes of a record a batch needs, where its decoders name the fields that they
// read. Of a large record that is not compressed, the loader first reads the head, and then what
// the wanted fields have beyond it:
//
//   | table | field 0 |      field 1      | field 2 |      field 3      |
//   |<---- head ---->|                    |<------->|
//
// Two reads for one pay only if they leave out a good part of the record. So the tables of the
// first records decide whether the later ones are read whole. Every field that is read is verified
// by its own checksum.
//
// splits() and rest() belong to the I/O thread; the others are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

#include "io/shard_files.h"

namespace ffkit {

class FieldReads {
 public:
  // Bytes of a record, counted from its first one.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // `readable`: by field of the data set's schema; nothing: any field may be read. `dataset` and
  // its `files` must outlive this. Records in stores are read whole: a store answers requests, and the
  // cache keeps blocks.
  FieldReads(const Dataset& dataset, const ShardFiles& files,
             std::optional<std::vector<bool>> readable);

  // For RecordView; null: any field.
  const std::vector<bool>* readable() const { return readable_ ? &*readable_ : nullptr; }

  // Whether the record is read in two steps.
  bool splits(const RecordLocation& record) const;
  // At most the length of such a record.
  int64_t head_bytes() const { return head_bytes_; }
  // What is to be read of it beyond its head, in ascending order; neighbours with a gap of less
  // than a page are one range. `record` has all of its bytes, of which the head is there. Throws
  // Error(corrupt) for a table that does not fit the record.
  std::vector<Range> rest(int64_t record_index, std::span<const std::byte> record);
  // Throws Error(corrupt) for a wanted field whose checksum is wrong.
  void verify(int64_t record_index, std::span<const std::byte> record) const;

 private:
  RecordView view(int64_t record_index, std::span<const std::byte> record) const;
  bool pays() const;
  void count_table(const std::vector<Range>& rest, int64_t record_bytes);

  const Dataset& dataset_;
  const ShardFiles& files_;
  std::optional<std::vector<bool>> readable_;
  bool is_on_ = false;
  int64_t head_bytes_ = 0;
  // Of the first records.
  int num_tables_ = 0;
  int64_t wanted_bytes_ = 0;
  int64_t all_bytes_ = 0;
};

}  // namespace ffkit
