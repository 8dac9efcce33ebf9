// The check of how many rows a RowsDecoder says that it wrote.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include <ffkit/format/error.h>

namespace ffkit {

// Not a bad sample: rows beyond the room for them have overwritten other samples.
inline void check_row_count(std::string_view field, int64_t num_rows, int64_t max_rows) {
  if (num_rows >= 0 && num_rows <= max_rows) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the decoder of the batch's field '{}' returned {} rows, but its "
                          "max_rows() is {}; correct the decoder",
                          field, num_rows, max_rows));
}

}  // namespace ffkit
