// FFRecord version 1 files (FORMAT.md, "Version 1").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shard/shard_file.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

// A file's header is kV1FixedBytes, the CRC and the number of records, and kV1BytesPerRecord of
// each record, checksum and offset.
constexpr int64_t kV1FixedBytes = 12;
constexpr int64_t kV1BytesPerRecord = 12;

enum class V1Payload : uint8_t {
  raw,       // any bytes: field "data"
  imagenet,  // pickles of (jpeg bytes, label): fields "image" and "label"
};
// raw: data (bytes). imagenet: image (image), label (scalar i64, column).
Schema v1_schema(V1Payload payload);

struct V1FileOptions {
  ShardReaderOptions reader = {};
  std::optional<V1Payload> payload;  // unset: by the first record
  // Of the records, known from elsewhere; empty: read from them when asked for.
  std::vector<int64_t> labels;
};

// Whether the file can be one of version 1: it does not begin with version 2's magic number, and
// its header fits its size. Throws Error(io).
bool looks_like_v1(const RandomReader& file);

// Reads and checks the header: 12 bytes a record are read and kept. Throws Error(corrupt), and
// Error(unsupported) when it is longer than max_v1_header_bytes.
std::unique_ptr<ShardFile> open_v1_file(std::shared_ptr<const RandomReader> file,
                                        V1FileOptions options);

}  // namespace ffkit
