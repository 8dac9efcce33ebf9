// Samples of LitData that are compressed: each by itself, or some together in a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/converter/source.h>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"

namespace ffkit {

// A sample of LitData that is compressed by itself.

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
