// Which LMDB files are at a path, and what their names tell.
//
//   data.mdb or any file             one, called as its folder or itself
//   folder/data.mdb                  one, called as the folder
//   folder/*/data.mdb, folder/*.mdb  one each
//   set-{00..15}.mdb                 one each
//
// "bedroom_train_lmdb" is LSUN's name of class "bedroom" and split "train"; other names tell a
// split as those of shard files do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ffkit {

struct LmdbPlace {
  std::filesystem::path file;
  std::string split;
  std::string category;  // of LSUN's names; else empty
};

// Sorted by name. Throws source_error(not_found) where there is none.
std::vector<LmdbPlace> find_lmdb_files(const std::filesystem::path& path);

}  // namespace ffkit
