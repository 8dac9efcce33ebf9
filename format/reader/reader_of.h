// From a path to a ShardReader by way of the ShardFile, for the library itself.
#pragma once

#include <memory>

#include <ffkit/format/shard_reader.h>

#include "format/shard/shard_file.h"

namespace ffkit {

// Opens a file of whichever version. Throws as ShardReader's constructor.
std::unique_ptr<ShardFile> open_shard_file(const std::filesystem::path& path,
                                           const ShardReaderOptions& options);
std::unique_ptr<ShardFile> open_shard_file(std::shared_ptr<const RandomReader> file,
                                           const ShardReaderOptions& options);

ShardReader reader_of(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options);

}  // namespace ffkit
