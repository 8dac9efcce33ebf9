// FFRecord version 1 files (FORMAT.md, "Version 1").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

#include "base/bytes/pickle.h"
#include "shard/shard_file.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

// What the records of a v1 file hold, and how it becomes fields: told from one record, held against
// the others.
//
//   a picture's file                       image
//   a .npy file                            value_0
//   a pickle of plain values               a field each
//     tuple or list                          image, label, text, else value_0, value_1, ...
//     dict of texts                          by its keys
//     one value                              as a tuple of it
//   what else                              data: its bytes
//
// Values: None, bool, int, float, str, bytes, numbers and arrays of NumPy, pictures of PIL. Bytes
// that begin as a picture are one, and so are PIL's pictures and arrays u8 [height, width, 3],
// whose pixels are stored as they are (PPM, PGM). Nothing of a pickle is executed.
struct V1Payload {
  enum class Kind : uint8_t { raw, picture, values };
  Kind kind = Kind::raw;
  Schema schema;
  std::vector<std::string> keys = {};  // of dicts, in the order of the fields; empty: by position
  bool is_container = true;            // of values; else the record is one value
  // Kind::raw: what the record is, or why its values are no fields; empty where nothing tells.
  std::string why_raw = {};

  // Of the same fields, found the same way.
  bool operator==(const V1Payload& other) const;
  // "pictures", "pickles of image and label", "bytes".
  std::string text() const;
};

// Any bytes: field "data".
V1Payload raw_v1_payload();
// Pickles of (jpeg bytes, label): fields "image" and "label", a column.
V1Payload imagenet_v1_payload();
V1Payload find_v1_payload(std::span<const std::byte> stored, Pickle& pickle);

// What a record of the payload may take beyond its stored bytes.
int64_t v1_overhead(const V1Payload& payload);

// Bytes that a record points to while it is made.
struct V1Values {
  std::vector<std::vector<std::byte>> pictures;
};

// Sets the fields of a record; what they point to is in `stored` and in `values`. Throws
// Error(corrupt) for one of another payload, Error(unsupported) for values that no field takes.
void set_v1_fields(const V1Payload& payload, std::span<const std::byte> stored, Pickle& pickle,
                   RecordBuilder& builder, V1Values& values);

// A file's header is kV1FixedBytes, the CRC and the number of records, and kV1BytesPerRecord of
// each record, checksum and offset.
constexpr int64_t kV1FixedBytes = 12;
constexpr int64_t kV1BytesPerRecord = 12;

struct V1FileOptions {
  ShardReaderOptions reader = {};
  std::optional<V1Payload> payload = {};  // unset: by the first record
  // Of the records, known from elsewhere; empty: read from them when asked for.
  std::vector<int64_t> labels = {};
};

// Whether the file can be one of version 1: it does not begin with version 2's magic number, and
// its header fits its size. Throws Error(io).
bool looks_like_v1(const RandomReader& file);

// Reads and checks the header: 12 bytes a record are read and kept. Throws Error(corrupt), and
// Error(unsupported) when it is longer than max_v1_header_bytes.
std::unique_ptr<ShardFile> open_v1_file(std::shared_ptr<const RandomReader> file,
                                        V1FileOptions options);

// What the first record that is whole holds; bytes where there is none.
V1Payload v1_payload_of(const std::filesystem::path& path, const ShardReaderOptions& options);

}  // namespace ffkit
