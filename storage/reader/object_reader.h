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

class ObjectReader : public RandomReader {
 public:
  // What the store calls the content that is read. Empty: that is not known, or cannot be said
  // without waiting.
  virtual std::string version_if_known() const = 0;
};

// `cache` may be null.
std::unique_ptr<ObjectReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 const KnownFile& known,
                                                 std::shared_ptr<BlockCache> cache);

}  // namespace ffkit
