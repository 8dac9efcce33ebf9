// Pairs: which files belong together, and which split they are in.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converter/input/input_file.h"
#include "pairs/pairs_layout.h"

namespace ffkit {

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
