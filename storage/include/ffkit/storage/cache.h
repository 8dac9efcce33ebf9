// The cache of this machine: a folder in which blocks of objects are kept, so that a data set in a
// store is downloaded once. The processes of a machine share it without knowing of each other.
//
// A set that is in use keeps what it has: when the folder is full, the rest of the set is read from
// the store in each epoch, record by record. To make room, files of sets that nobody uses leave,
// those that were not used for longest first. Files that are not the cache's own are never touched.
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
  // What the folder may hold; 0: half of what is free on its disk when the cache is opened, and
  // what the cache has already.
  int64_t max_bytes = 0;
  // The cache leaves so much of the disk free: others need some.
  int64_t min_free_bytes = int64_t{2} << 30;
};

// From the environment: FFKIT_CACHE is the folder, or "off" ("none", "0"); FFKIT_CACHE_BYTES the
// bound, such as 200G. Without FFKIT_CACHE: $TMPDIR (or /tmp)/ffkit-cache-<user>, which is refused
// if somebody else has made it or it is a link. Throws Error(invalid_argument).
CacheOptions cache_options_of_environment();

// The options of what this process opens from now on; without this call, those of the environment.
// Throws Error(invalid_argument) for a bound below 64 MiB, or a folder in memory.
void set_cache(const CacheOptions& options);
CacheOptions cache_options();

struct CachedSet {
  std::string address;  // of the folder that its objects are in
  int64_t num_objects = 0;
  int64_t num_bytes = 0;  // on the disk
  bool is_in_use = false;
  int64_t last_used = 0;  // seconds since 1970
};
// What is in the folder, the last used set first.
std::vector<CachedSet> cached_sets(const std::filesystem::path& folder);
// Removes what nobody uses; of all sets, or of those whose address begins with `address`. Returns
// the bytes that it removed.
int64_t clean_cache(const std::filesystem::path& folder, const std::string& address = "");

}  // namespace ffkit
