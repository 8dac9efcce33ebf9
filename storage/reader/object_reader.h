// RandomReader of an object in a store, behind the cache of the machine. Both ends of a file are
// what opening a shard reads: where the cache lacks them, they are asked for together when the
// reader is made, and kept. All that is read is of one version of the object.
#pragma once

#include <filesystem>
#include <memory>

#include "cache/block_cache.h"
#include "reader/random_reader.h"
#include "stores/object_store.h"

namespace ffkit {

// `cache` may be null.
std::unique_ptr<RandomReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 const KnownFile& known,
                                                 std::shared_ptr<BlockCache> cache);

}  // namespace ffkit
