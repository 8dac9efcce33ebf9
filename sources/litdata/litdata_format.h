// What a LitData index says of the leaves of its samples: their formats, and their names by the
// structure ("data_spec") that they are leaves of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/format/schema.h>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"
#include "rows/indexed_rows.h"

namespace ffkit {

enum class LitDataKind : uint8_t {
  plain,   // the bytes are the value: str, text, jpeg, image, bytes, and files of all kinds
  number,  // int, float, bool: of the field's dtype
  pillow,  // pil
  jpeg_array,
  tensor,   // u32 dtype, rank and shape, big-endian
  numpy,    // the same, little-endian
  numbers,  // one axis, without a header
  json,     // lists and dictionaries in a binary form
  refused,
};

struct LitDataFormat {
  LitDataKind kind = LitDataKind::refused;
  Field field;                 // without its name; of tensors and numpy without a dtype
  std::string refusal;         // of refused: "has the format ..."
  const char* note = nullptr;  // what becomes of the values, where that is not plain
};

// "no_header_tensor:18".
LitDataFormat parse_litdata_format(const std::string& name);

// The dtype that stands for `number` in tensors of torch, or of NumPy; nothing for those that have
// none here (complex numbers, objects, texts).
std::optional<DType> torch_dtype(uint32_t number);
std::optional<DType> numpy_dtype(uint32_t number);

// The names of the leaves of a structure, in order: "a/b" for dictionaries, "0" for lists and
// tuples, "value" for one leaf. `spec`: what torch's treespec_dumps() writes. Throws
// Error(corrupt or unsupported) without a path.
std::vector<std::string> leaf_names(std::string_view spec);

// A text in JSON, as Python's json writes it, but for characters beyond ASCII, which stay.
void add_json_text(std::string_view text, std::string& out);
// The shortest text that is this number again; 1.0 stays a real. NaN as Python writes it.
void add_json_real(double value, std::string& out);

// A value of the format "json" as JSON text. Throws Error(corrupt).
std::string litdata_json(std::string_view bytes);

// What a LitData index says of all chunks of a data set.

// How the samples of a chunk are compressed, beside chunks that are compressed as files.
enum class InChunk : uint8_t { plain, frames, samples };

struct LitDataConfig {
  std::vector<std::string> formats;
  std::vector<std::string> names;
  std::string compression;  // "zstd:4"; empty: none
  InChunk in_chunk = InChunk::plain;
  bool are_tokens = false;  // written for a TokensLoader
  bool operator==(const LitDataConfig&) const = default;
};

// Of the index's member "config". Throws IndexValue::error() of what is not read.
LitDataConfig read_litdata_config(const IndexValue& config);

// Samples of LitData that are compressed: each by itself, or some together in a frame.

// `row` decompressed, into `buffers`: one zstd frame or several. Throws Error(corrupt), without a
// path, for damaged data, Error(unsupported) for a sample of more than `max_row_bytes`.
std::span<const std::byte> inflate_sample(std::span<const std::byte> row, int64_t max_row_bytes,
                                          SampleBuffers& buffers);

// A chunk of LitData whose samples are compressed together, some in each frame of zstd
// (litdata/streaming/framed_zstd.py), all numbers little-endian:
//
//   "LDFZ01\0\0" │ u16 version │ u16 flags │ u32 samples │ u32 samples a frame │ u32 frames
//   u32 offsets[samples + 1], of samples in what all frames hold
//   frames x (u32 first sample │ u32 samples │ u64 offset in the file │ u32 bytes │ u32 raw)
//   the frames, one behind the other

struct FramedChunk {
  FileRange frames;                // of all frames in the file: one stream of zstd
  int64_t num_bytes = 0;           // decompressed
  std::vector<std::byte> offsets;  // the u32 offsets as they are in the file
};

// Reads what stands before the frames. Throws Error(corrupt) without a path for a file that is none
// of these, or whose tables do not fit it or one another.
FramedChunk read_framed_chunk(const InputFile& file);

}  // namespace ffkit
