// Locks that keep merges, appends and what is written as FFRecord v1 apart. The data set folders
// themselves are locked, by flock(2): nothing has to be made and cleared away. Where the file
// system has no locks, a file in the folder stands for one (base/file/file_lock.h).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file/file_lock.h"

namespace ffkit {

class FolderLocks {
 public:
  enum class Use {
    read,    // shards are taken from it: others may do the same
    change,  // shards are added or removed
  };

  // Locks `folder` for as long as this object lives. A folder that is locked by it already stays as
  // it is. Does not wait: throws Error(invalid_argument) when another process uses the folder
  // otherwise, Error(not_found) or Error(io) when it cannot be opened. Where the file system has no
  // locks, `note` gets a sentence.
  void add(const std::filesystem::path& folder, Use use,
           const std::function<void(const std::string&)>& note);

 private:
  struct Lock {
    std::filesystem::path folder;  // canonical
    FileLock lock;
    ClaimFile claim;
  };
  std::vector<Lock> locks_;
};

}  // namespace ffkit
