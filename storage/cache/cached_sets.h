// The sets of a cache folder, and who uses them. A set is the folder that objects are in; each has
// a file "ffkit-<set>.set" with its address, which whoever uses the set has locked.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/file/file.h"

namespace ffkit {

// That this process uses a set, as long as it is there: nothing of the set leaves the cache.
class SetInUse {
 public:
  // Throws Error(io).
  SetInUse(const std::filesystem::path& folder, const std::string& address);

 private:
  File file_;
};

// Where blocks of an object are kept: "ffkit-<set>-<object>.blocks".
std::filesystem::path cache_file_of(const std::filesystem::path& folder,
                                    const std::string& set_address, const std::string& key);

// The bytes that the cache's files take on the disk.
int64_t bytes_in_cache(const std::filesystem::path& folder);
// Removes files of sets that nobody uses, those first that were not used for longest, until there
// are `num_bytes` less. Returns what it removed.
int64_t remove_unused(const std::filesystem::path& folder, int64_t num_bytes);

}  // namespace ffkit
