// Pairs: the folders that the options stand for, and the files in them that belong together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/sources/pairs.h>

#include "converter/input/input_file.h"

namespace ffkit {

// Pairs: which folders the options stand for, and what is left of a file's name in them.

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

// Pairs: which files belong together, and which split they are in.

struct PairFile {
  std::string path;  // below its folder
  FileStamp stamp;   // ImageEntry::kDanglingLink, for a link to nothing
};

struct PairSample {
  std::vector<PairFile> files;  // one a folder
  size_t id_begin = 0;          // the picture's path from here on is the record's name
};

struct PairSplit {
  std::string name;
  std::vector<PairSample> samples;  // by name; in the order of the list, where there is one
  std::filesystem::path list;       // empty: none
};

// Throws as open_pairs(). What the user should know goes to `notes`.
std::vector<PairSplit> list_pairs(const PairsLayout& layout, const PairsOptions& options,
                                  std::vector<std::string>& notes);

}  // namespace ffkit
