// What the values of an LMDB are, and the Datum messages of Caffe among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
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

// Rows whose values are entries of their own, with a number in common, as scripts of text
// recognition write them:
//
//   image-000000001, label-000000001   also 1.jpg and 1.txt, 0001_image and 0001_text
//
// One word's values are pictures, those of the other words are not.

struct LmdbRow {
  std::string id;
  FileRange value;
  LmdbValueFacts facts;
};
using LmdbRowsOfFiles = std::vector<std::vector<std::vector<LmdbRow>>>;  // by split and file

// Keys by which scripts keep how many values there are, or which.
bool is_bookkeeping(std::string_view key);

struct LmdbMembers {
  std::string picture;              // the word of the pictures
  std::vector<std::string> others;  // the other words, sorted
};
// Nothing where the entries are not such, or less than half of the pictures have another entry.
std::optional<LmdbMembers> find_lmdb_members(const LmdbRowsOfFiles& rows);

struct LmdbMemberRow {
  std::string id;  // the number, as it is written
  std::optional<FileRange> picture;
  std::vector<std::optional<FileRange>> others;  // of LmdbMembers::others
};
// Of one file: in the order of the pictures, those without one last.
std::vector<LmdbMemberRow> join_lmdb_members(const std::vector<LmdbRow>& rows,
                                             const LmdbMembers& members);

}  // namespace ffkit
