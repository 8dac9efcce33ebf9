// What RecordUnpacker keeps from record to record, and its check of checksums.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <ffkit/format/record_unpacker.h>

#include "pickle.h"

namespace ffkit {

struct RecordUnpacker::Buffers {
  std::vector<std::byte> record;
  Pickle pickle;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd{nullptr,
                                                            ZSTD_freeDCtx};  // made when needed
};

// Whether `stored` are the bytes that the index speaks of; always when it has no checksum for them.
bool has_checksum(const RecordLocation& where, std::span<const std::byte> stored);

}  // namespace ffkit
