// What interrupted conversions and copies have left in a folder or a store: `ffconvert gc`.
//
// Only names that ffkit gives are looked at, in the data set's folder, in those of its splits, and
// in a store in those of its parts.
// What a manifest names is never a leftover, nor is a file that is not ffkit's.
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

// Of the data set, or the split, at `place`, and of its splits. Throws Error(not_found) where there
// is nothing, Error(unsupported) for a store without lists.
Leftovers find_leftovers(const std::filesystem::path& place);

struct RemovedLeftovers {
  int64_t num_removed = 0;
  int64_t num_bytes = 0;
};
// Removes what find_leftovers() found, after looking again. What belongs to data sets that are not
// finished, `work` and `marker`, only with `unfinished`: then their conversions begin anew. What a
// process of this machine has on a disk stays. In a store, a conversion or a copy that is being
// made is an Error(invalid_argument), and nothing is removed; whether one of another machine lives
// may take half a minute to tell, of which `note`, which may be empty, gets a sentence.
RemovedLeftovers remove_leftovers(const std::filesystem::path& place, bool unfinished,
                                  const std::function<void(const std::string&)>& note = {});

}  // namespace ffkit
