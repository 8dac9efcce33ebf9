// What a record's fields are called and hold as columns of an MDS sample (MosaicML Streaming,
// format version 2). A column is called as its field.
//
//   image             jpeg or png, by the split's first picture; bytes where it is neither
//   integer i64       int                      other scalars   uint8 ... float64
//   string            str                      bytes           bytes
//   tensor            ndarray:<dtype>          list of images  list[jpeg], list[png]
//   list of strings   json, an array
//
// bf16 is float32. Streaming opens "jpeg" and "png" alike, by what they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/format/record.h>

#include "export/export_source.h"

namespace ffkit {

struct MdsColumn {
  size_t field = 0;
  std::string name;
  std::string encoding;   // "jpeg", "ndarray:float32"
  int64_t num_bytes = 0;  // of each value, or 0: values have sizes of their own
};

// Thread-safe once it is made.
class MdsColumns {
 public:
  // Reads records of `source`, which must outlive it, up to the first picture of each field. Throws
  // Error(unsupported) for lists of tensors and of bytes, which MDS has no encoding for.
  explicit MdsColumns(const ExportSource& source);

  // In the order of a sample: by name.
  const std::vector<MdsColumn>& columns() const { return columns_; }
  // The bytes of a sample: the sizes of values that have their own, as u32, then all values. Throws
  // Error(invalid_argument) for a null field, which MDS cannot hold, Error(unsupported) for a value
  // of more than 4 GiB, and as image_file().
  std::string sample_of(const RecordView& record) const;
  // What is not as it was, one sentence for a field.
  std::vector<std::string> notes() const;

 private:
  std::string encoding_of(const Field& field, size_t position) const;
  std::string first_picture(size_t position, bool is_list) const;
  void put_picture(std::span<const std::byte> image, size_t column, std::string& value) const;
  std::string value_of(const RecordView& record, size_t column) const;

  const ExportSource& source_;
  std::vector<MdsColumn> columns_;
  // By column: pictures of another kind than it says.
  std::unique_ptr<std::atomic<int64_t>[]> num_others_;
};

}  // namespace ffkit
