// The cache of this machine: a folder for blocks of objects, so that a data set in a store is
// downloaded once. All processes of a machine share it.
//
// Blocks of a set in use are never removed: if the folder is full, the rest of the set is read from
// the store in each epoch, record by record. To make space, files of unused sets are removed, the
// least recently used first. Other files are never touched.
//
// All functions are thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

struct CacheOptions {
  // Made when it is needed. Empty: no cache. A file system in memory (tmpfs) is refused.
  std::filesystem::path folder;
  // Largest size of the folder; 0: half of the free space on its disk when the cache is opened,
  // plus the present size of the cache.
  int64_t max_bytes = 0;
  // The cache leaves this much of the disk free for others.
  int64_t min_free_bytes = int64_t{2} << 30;
};

// From the environment: FFKIT_CACHE is the folder, or "off" ("none", "0"); FFKIT_CACHE_BYTES the
// limit, such as 200G. Without FFKIT_CACHE: $TMPDIR (or /tmp)/ffkit-cache-<user>, which is refused
// if another user made it or it is a link. Throws Error(invalid_argument).
CacheOptions cache_options_of_environment();

// Sets the options for everything that this process opens from now on; without this call, those of
// the environment are used. Throws Error(invalid_argument) for a limit below 64 MiB, or a folder in
// memory.
void set_cache(const CacheOptions& options);
CacheOptions cache_options();

struct CachedSet {
  std::string address;  // of the folder that its objects are in
  int64_t num_objects = 0;
  int64_t num_bytes = 0;  // on the disk
  bool is_in_use = false;
  int64_t last_used = 0;  // seconds since 1970
};
// The content of the folder, the last used set first.
std::vector<CachedSet> cached_sets(const std::filesystem::path& folder);
// Removes unused sets: all, or those whose address begins with `address`. Returns the number of
// removed bytes.
int64_t clean_cache(const std::filesystem::path& folder, const std::string& address = "");

}  // namespace ffkit
