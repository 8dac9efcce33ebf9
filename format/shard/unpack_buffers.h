// What RecordUnpacker keeps from record to record.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes/pickle.h"

namespace ffkit {

struct UnpackBuffers {
  std::vector<std::byte> record;
  Pickle pickle;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd{nullptr,
                                                            ZSTD_freeDCtx};  // made when needed
};

}  // namespace ffkit
