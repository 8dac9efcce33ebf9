// The checks of how many rows a RowsDecoder says that it wrote.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ffkit/base/error.h>

namespace ffkit {

// Not a bad sample: rows beyond the room for them have overwritten other samples.
inline void check_row_count(std::string_view field, int64_t num_rows, int64_t max_rows) {
  if (num_rows >= 0 && num_rows <= max_rows) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the decoder of the batch's field '{}' returned {} rows, but its "
                          "max_rows() is {}; correct the decoder",
                          field, num_rows, max_rows));
}

// Likewise of a part of a RowPartsDecoder, in whose place `room` rows fit. `num_counted` is what
// count_rows() said, where it was asked.
inline void check_part_rows(std::string_view field, int64_t part, int64_t num_rows, int64_t room,
                            std::optional<int64_t> num_counted) {
  const bool is_counted = !num_counted || num_rows == std::min(*num_counted, room);
  if (num_rows >= 0 && num_rows <= room && is_counted) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("the decoder of the batch's field '{}' wrote {} rows of part {}, but {}; correct "
                  "the decoder",
                  field, num_rows, part,
                  num_rows < 0 || num_rows > room ? fmt::format("there is room for {}", room)
                                                  : fmt::format("counted {}", *num_counted)));
}

// What count_rows() said. A negative number would place the rows of later parts over those of
// earlier ones, so nothing is written.
inline void check_counted_rows(std::string_view field, int64_t part, int64_t num_counted) {
  if (num_counted >= 0) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("the decoder of the batch's field '{}' counted {} rows of part {}; correct "
                  "the decoder",
                  field, num_counted, part));
}

}  // namespace ffkit
