#include "fields/row_lists_decoder.h"

#include <cstddef>
#include <cstring>

#include "fields/array_bytes.h"
#include "fields/row_count.h"

namespace ffkit {

void RowListsDecoder::decode(const RecordView& record, const SampleKey& key, Scratch* scratch,
                             void* out) const {
  const size_t row_bytes = array_bytes(dtype(), shape());
  auto* to = static_cast<std::byte*>(out);
  for (int64_t list = 0; list < num_lists(); ++list) {
    const int64_t num_rows = decode_list(record, key, list, scratch, to);
    check_row_count("", num_rows, max_rows());
    const size_t list_bytes = static_cast<size_t>(max_rows()) * row_bytes;
    const size_t written = static_cast<size_t>(num_rows) * row_bytes;
    std::memset(to + written, 0, list_bytes - written);
    to += list_bytes;
  }
}

}  // namespace ffkit
