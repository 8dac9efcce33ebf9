// Leftovers of interrupted conversions and copies in a folder or a store: `ffconvert gc`.
//
// Only names that ffkit gives are considered, in the folders of the data set, its splits and, in a
// store, its parts. Files that a manifest names, or that are not ffkit's, are never leftovers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ffkit {

struct Leftover {
  enum class Kind : uint8_t {
    shard,      // that the manifest beside it does not name
    temporary,  // a file that is written under another name than it gets
    upload,     // parts of an object that was not finished
    work,       // shards and temporary files of a data set that is not finished: --resume uses them
    marker,     // of a data set that is not finished, and the files of those who use it
  };
  Kind kind = Kind::temporary;
  std::filesystem::path path;
  int64_t num_bytes = 0;   // 0 of uploads: stores do not say
  std::string upload_id;   // of Kind::upload
  std::string since;       // when an upload was begun, as the store writes it; empty: not known
  bool is_in_use = false;  // a process of this machine has it: it cannot be removed

  // Whether a conversion that goes on would use it.
  bool is_of_unfinished() const { return kind == Kind::work || kind == Kind::marker; }
};

struct Leftovers {
  std::vector<Leftover> found;  // sorted by path
  // Files that are neither ffkit's nor in a manifest; they stay.
  std::vector<std::filesystem::path> others;
  int64_t num_in_manifests = 0;    // files that manifests name, and manifests
  std::vector<std::string> notes;  // what could not be looked for, a sentence each
};

// Finds leftovers of the data set or split at `place`. Throws Error(not_found) if nothing is there,
// Error(unsupported) for a store that cannot list files.
Leftovers find_leftovers(const std::filesystem::path& place);

struct RemovedLeftovers {
  int64_t num_removed = 0;
  int64_t num_bytes = 0;
};
// Removes leftovers, after it has looked again. With `unfinished` it also removes `work` and
// `marker` of unfinished data sets; their conversions then start over. Files on a disk that a
// process of this machine uses stay. In a store, a running conversion or copy gives
// Error(invalid_argument), and nothing is removed. It may take half a minute to see whether one of
// another machine runs; `note`, which may be empty, gets a sentence about it.
RemovedLeftovers remove_leftovers(const std::filesystem::path& place, bool unfinished,
                                  const std::function<void(const std::string&)>& note = {});

}  // namespace ffkit
