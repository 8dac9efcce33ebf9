// LMDB files (data.mdb), version 1 of the format on machines of 64 bits: keys and values in a
// B+ tree of pages.
//
//   page     | u64 number | u16 | u16 flags | u16 lower, u16 upper, or u32 pages | u16 nodes[] |
//   meta     pages 0 and 1; the one of the larger transaction counts: where the tree's root is
//   branch   nodes | u16 u16 u16 page number, u16 key length | key |
//   leaf     nodes | u16 u16 value length, u16 flags, u16 key length | key | value |
//   overflow a value that is too large for a leaf, in pages side by side behind one header
//
// Source: liblmdb, mdb.c of 0.9. Nothing is mapped, and no lock file is opened: a file that
// somebody writes to meanwhile must not be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "archives/tar_index.h"
#include "files/file_window.h"

namespace ffkit {

struct LmdbEntry {
  std::string key;
  FileRange value;  // may reach behind the end of a file that was cut
};

struct LmdbListing {
  std::vector<LmdbEntry> entries;  // in the order of the tree, which is that of its cursors
  bool has_integer_keys = false;   // MDB_INTEGERKEY: keys are u32 or u64
  std::string database;            // the named database that was taken; empty: the main one
};

// All entries of the database `database`; where that is empty, of the main one, or of the named one
// where that is all there is. Throws source_error(): corrupt for pages that cannot be, unsupported
// for files of other kinds, versions and machines, for several named databases where none is asked
// for and for keys of several values, not_found for a database that is not there; Error(cancelled).
// Each page is read once.
LmdbListing list_lmdb(const std::filesystem::path& path, int64_t num_bytes, const ReadBytes& read,
                      const std::string& database, const std::atomic<bool>* cancel);

// Which LMDB files are at a path, and what their names tell.
//
//   data.mdb or any file             one, called as its folder or itself
//   folder/data.mdb                  one, called as the folder
//   folder/*/data.mdb, folder/*.mdb  one each
//   set-{00..15}.mdb                 one each
//
// "bedroom_train_lmdb" is LSUN's name of class "bedroom" and split "train"; other names tell a
// split as those of shard files do.

struct LmdbPlace {
  std::filesystem::path file;
  std::string split;
  std::string category;  // of LSUN's names; else empty
};

// Sorted by name. Throws source_error(not_found) where there is none.
std::vector<LmdbPlace> find_lmdb_files(const std::filesystem::path& path);

}  // namespace ffkit
