// RecordArrays: the arrays that a Loader makes of one record, without its threads, order and batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/image/random.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>

#include "loader/views/view_fields.h"

namespace ffkit {

// What one field of the batch has of a record.
struct RecordArray {
  std::vector<std::byte> bytes;
  // Of a field with rows: of each copy; those of copy c begin at row c * max_rows.
  std::vector<int64_t> num_rows;
  int64_t max_rows = 0;

  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Not thread-safe: one per thread. `fields` must outlive it.
class RecordArrays {
 public:
  explicit RecordArrays(const BatchFields& fields);

  // Decodes all fields for the sample with this key. Throws what the decoders throw for a bad
  // sample.
  void decode(const RecordView& record, const SampleKey& key);

  // Of the last decode(); they live until the next one. The array must be there.
  const RecordArray& of(std::string_view name) const;
  const RecordArray& geometry(size_t view) const;
  // Height and width of each copy's picture, i64 [.., 2], of a view that ends with PadToLargest;
  // null of others.
  const RecordArray* unpadded_sizes(size_t view) const;

 private:
  const BatchFields& fields_;
  std::vector<std::unique_ptr<FieldDecoder::Scratch>> scratch_;
  std::vector<RecordArray> arrays_;
};

}  // namespace ffkit
