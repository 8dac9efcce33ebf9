#include "litdata/compressed_chunk.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "rows/stored_values.h"

namespace ffkit {

// Writers do not all say how long it will be.
std::span<const std::byte> inflate_sample(std::span<const std::byte> row, int64_t max_row_bytes,
                                          SampleBuffers& buffers) {
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  const std::unique_ptr<ZSTD_DStream, Free> stream(ZSTD_createDStream());
  if (stream == nullptr) throw std::bad_alloc();
  const auto max_bytes = static_cast<size_t>(max_row_bytes);
  std::vector<std::byte>& out = buffers.array();
  out.resize(std::min(max_bytes, std::max<size_t>(4 * row.size(), 4096)));
  ZSTD_inBuffer from{row.data(), row.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (true) {
    const size_t result = ZSTD_decompressStream(stream.get(), &to, &from);
    if (ZSTD_isError(result) != 0) {
      throw error_of(ErrorCode::corrupt, "is zstd data that is damaged: {}",
                     ZSTD_getErrorName(result));
    }
    if (result == 0 && from.pos == from.size) break;
    if (to.pos < to.size) {
      if (from.pos < from.size) continue;
      throw Error(ErrorCode::corrupt, "is zstd data that is cut short");
    }
    if (out.size() == max_bytes) {
      throw error_of(ErrorCode::unsupported,
                     "has more than {} bytes decompressed, as many as a sample may have; take it "
                     "away, or raise the limit with {}",
                     max_bytes, option_name("max_sample_bytes"));
    }
    out.resize(std::min(max_bytes, 2 * out.size()));
    to.dst = out.data();
    to.size = out.size();
  }
  out.resize(to.pos);
  return out;
}

namespace {

constexpr std::string_view kFramedMagic("LDFZ01\0\0", 8);
constexpr int64_t kFramedHeadBytes = 24;
constexpr int64_t kFrameEntryBytes = 24;

uint32_t offset_at(const std::vector<std::byte>& offsets, uint64_t sample) {
  uint32_t offset = 0;
  std::memcpy(&offset, offsets.data() + 4 * sample, sizeof(offset));
  return offset;
}

}  // namespace

FramedChunk read_framed_chunk(const InputFile& file) {
  std::vector<std::byte> head(static_cast<size_t>(std::min(file.size(), kFramedHeadBytes)));
  file.read_at(0, head);
  StoredBytes from(head);
  const bool is_framed = std::ssize(head) == kFramedHeadBytes &&
                         std::memcmp(from.take(kFramedMagic.size()).data(), kFramedMagic.data(),
                                     kFramedMagic.size()) == 0;
  if (!is_framed) {
    throw Error(ErrorCode::corrupt,
                "is no chunk with frames of zstd, which index.json says it is; copy it again");
  }
  const auto version = from.number<uint16_t>();
  if (version != 1) {
    throw error_of(ErrorCode::unsupported,
                   "has frames of version {}, and version 1 is read; write it with LitData's "
                   "compression_level=\"chunk\"",
                   version);
  }
  (void)from.number<uint16_t>();  // flags: none yet
  const int64_t num_samples = from.number<uint32_t>();
  (void)from.number<uint32_t>();  // samples a frame: each frame says its own
  const int64_t num_frames = from.number<uint32_t>();
  const int64_t offsets_bytes = 4 * (num_samples + 1);
  const int64_t table_bytes = kFrameEntryBytes * num_frames;
  if (offsets_bytes + table_bytes > file.size() - kFramedHeadBytes) {
    throw error_of(ErrorCode::corrupt,
                   "is cut short: it has {} bytes, too few for tables of {} samples and {} frames",
                   file.size(), num_samples, num_frames);
  }
  FramedChunk chunk;
  chunk.offsets.resize(static_cast<size_t>(offsets_bytes));
  file.read_at(kFramedHeadBytes, chunk.offsets);
  std::vector<std::byte> table(static_cast<size_t>(table_bytes));
  file.read_at(kFramedHeadBytes + offsets_bytes, table);
  chunk.frames.offset = kFramedHeadBytes + offsets_bytes + table_bytes;
  int64_t next_sample = 0;
  StoredBytes frames(table);
  for (int64_t i = 0; i < num_frames; ++i) {
    const int64_t first = frames.number<uint32_t>();
    const int64_t count = frames.number<uint32_t>();
    const auto offset = frames.number<uint64_t>();
    const int64_t num_bytes = frames.number<uint32_t>();
    const bool follows =
        first == next_sample && first + count <= num_samples &&
        offset == static_cast<uint64_t>(chunk.frames.offset + chunk.frames.num_bytes) &&
        num_bytes <= file.size() - static_cast<int64_t>(offset) &&
        offset_at(chunk.offsets, static_cast<uint64_t>(first)) == chunk.num_bytes;
    if (!follows) {
      throw error_of(ErrorCode::corrupt,
                     "frame {} does not follow the one before it, by the table of frames; copy it "
                     "again",
                     i);
    }
    next_sample += count;
    chunk.frames.num_bytes += num_bytes;
    chunk.num_bytes += frames.number<uint32_t>();
  }
  if (next_sample != num_samples || chunk.frames.offset + chunk.frames.num_bytes != file.size()) {
    throw error_of(ErrorCode::corrupt,
                   "its frames end at sample {} and byte {}, and it has {} samples and {} bytes; "
                   "copy it again",
                   next_sample, chunk.frames.offset + chunk.frames.num_bytes, num_samples,
                   file.size());
  }
  return chunk;
}

}  // namespace ffkit
