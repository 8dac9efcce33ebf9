// What the values of an LMDB are, and the Datum messages of Caffe among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "rows/row_table.h"

namespace ffkit {

// Datum: Caffe's message of a picture or an array with its label, without protobuf.
//
//   1 channels, 2 height, 3 width: int32    4 data: bytes, u8 [channels, height, width] or a file
//   5 label: int32                          6 float_data: repeated float    7 encoded: bool
//
// Source: caffe/src/caffe/proto/caffe.proto and protobuf's encoding: of a field that is there twice
// the last one counts, unknown ones are passed over, floats may be packed or not.
struct Datum {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::optional<int64_t> label;
  bool is_encoded = false;
  FileRange data;  // in the message
  int64_t num_floats = 0;

  // Whether there are numbers or a file, as many as the shape says.
  bool is_whole() const;
};

// Bytes [offset, offset + count) of the message, or as many as there are, until the next call.
using DatumBytes = std::function<std::span<const std::byte>(int64_t offset, size_t count)>;

// Reads a message of `num_bytes`, without the bytes of its data. Nothing for what is no such
// message. `floats`: where its numbers are put, f32, little-endian; null: they are counted.
std::optional<Datum> read_datum(int64_t num_bytes, const DatumBytes& bytes,
                                std::vector<std::byte>* floats = nullptr);

// What the values of an LMDB are, by their first bytes; Datum messages by all but their data.

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
