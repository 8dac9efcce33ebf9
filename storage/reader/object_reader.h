// RandomReader of an object in a store. Both ends of a file are what opening a shard reads: they are
// asked for together when the reader is made, and kept. Everything else is a range of its own.
#pragma once

#include <filesystem>
#include <memory>

#include "reader/random_reader.h"
#include "stores/object_store.h"

namespace ffkit {

// `num_bytes`: -1 where it is not known. Then it is asked for, which waits.
std::unique_ptr<RandomReader> open_object_reader(std::shared_ptr<ObjectStore> store,
                                                 const std::filesystem::path& address,
                                                 int64_t num_bytes);

}  // namespace ffkit
