// Rows whose values are entries of their own, with a number in common, as scripts of text
// recognition write them:
//
//   image-000000001, label-000000001   also 1.jpg and 1.txt, 0001_image and 0001_text
//
// One word's values are pictures, those of the other words are not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archives/tar_index.h"
#include "lmdb/lmdb_values.h"

namespace ffkit {

struct LmdbRow {
  std::string id;
  FileRange value;
  LmdbValueFacts facts;
};
using LmdbRowsOfFiles = std::vector<std::vector<std::vector<LmdbRow>>>;  // by split and file

// Keys by which scripts keep how many values there are, or which.
bool is_bookkeeping(std::string_view key);

struct LmdbMembers {
  std::string picture;              // the word of the pictures
  std::vector<std::string> others;  // the other words, sorted
};
// Nothing where the entries are not such, or less than half of the pictures have another entry.
std::optional<LmdbMembers> find_lmdb_members(const LmdbRowsOfFiles& rows);

struct LmdbMemberRow {
  std::string id;  // the number, as it is written
  std::optional<FileRange> picture;
  std::vector<std::optional<FileRange>> others;  // of LmdbMembers::others
};
// Of one file: in the order of the pictures, those without one last.
std::vector<LmdbMemberRow> join_lmdb_members(const std::vector<LmdbRow>& rows,
                                             const LmdbMembers& members);

}  // namespace ffkit
