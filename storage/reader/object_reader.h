// RandomReader of an object in a store, behind the cache of the machine. Both ends of a file are
// what opening a shard reads: where the cache lacks them, they are asked for together when the
// reader is made, and kept. All that is read is of one version of the object.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "cache/block_cache.h"
#include "reader/random_reader.h"
#include "stores/object_store.h"

namespace ffkit {

// What a process reads by. A child of fork() has neither the connections nor the threads of its
// parent: its first read asks for its own.
struct ReadsBy {
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<BlockCache> cache;  // null: none
};
using AskReadsBy = std::function<ReadsBy()>;

std::unique_ptr<RandomReader> open_object_reader(const std::filesystem::path& address,
                                                 const KnownFile& known, AskReadsBy ask);

}  // namespace ffkit
