// Pairs: which folders the options stand for, and what is left of a file's name in them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/sources/pairs.h>

namespace ffkit {

struct PairsFolder {
  std::string field;
  std::filesystem::path path;  // a folder that is there
  std::string suffix;          // of the names, before their ending or with it; empty: none
};

struct PairsLayout {
  std::vector<PairsFolder> folders;  // at least two; the first has the pictures
  std::vector<std::filesystem::path> lists;
  bool is_chosen = false;  // the lists are those of the wanted splits alone
};

// The folders and lists of valid `options`. Throws Error(not_found) for those that are not there.
PairsLayout find_pairs_layout(const PairsOptions& options);

}  // namespace ffkit
