// A sample of LitData that is compressed by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ffkit/converter/source.h>

namespace ffkit {

// `row` decompressed, into `buffers`: one zstd frame or several. Throws Error(corrupt), without a
// path, for damaged data, Error(unsupported) for a sample of more than `max_row_bytes`.
std::span<const std::byte> inflate_sample(std::span<const std::byte> row, int64_t max_row_bytes,
                                          SampleBuffers& buffers);

}  // namespace ffkit
