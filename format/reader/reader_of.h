// A ShardReader of a file that is already open, for the library itself.
#pragma once

#include <memory>

#include <ffkit/format/shard_reader.h>

#include "shard/shard_file.h"

namespace ffkit {

ShardReader reader_of(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options);

}  // namespace ffkit
