// What the values of an LMDB are, by their first bytes; Datum messages by all but their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <ffkit/converter/source.h>

#include "lmdb/datum.h"
#include "rows/row_table.h"

namespace ffkit {

enum class LmdbContent : uint8_t {
  picture,
  datum_picture,  // a file, or pixels of one or three channels
  datum_bytes,    // u8 of other channels
  datum_floats,
  pickle,
  other,
};

struct LmdbValueFacts {
  LmdbContent content = LmdbContent::other;
  bool has_label = false;  // of a Datum
  bool is_raw = false;     // of a Datum: pixels
};

// `num_bytes` of the value, `bytes` as for read_datum().
LmdbValueFacts facts_of_lmdb_value(int64_t num_bytes, const DatumBytes& bytes);

// Whether planes of three channels are blue, green, red, as OpenCV has them, or red first.
enum class PlaneOrder : uint8_t { bgr, rgb };

// Sets `value` to what a Datum holds: a picture or an array, whichever `content` says. Throws
// Error(corrupt), without a path, for a message that is something else.
void set_datum(std::span<const std::byte> message, LmdbContent content, PlaneOrder order,
               RowValue& value, RowValue* label, SampleBuffers& buffers);

}  // namespace ffkit
