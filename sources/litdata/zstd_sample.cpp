#include "litdata/zstd_sample.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"

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

}  // namespace ffkit
