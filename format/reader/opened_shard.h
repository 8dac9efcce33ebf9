// OpenedShard: a ShardReader of a file that is open already, for the library itself.
#pragma once

#include <memory>
#include <utility>

#include <ffkit/format/shard_reader.h>

#include "shard/shard_file.h"

namespace ffkit {

struct OpenedShard {
  static ShardReader reader(std::unique_ptr<ShardFile> file, const ShardReaderOptions& options) {
    return {std::move(file), options};
  }
};

}  // namespace ffkit
