// The hashes of all records of a split, from its side file and from the records.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/dataset.h>

#include "duplicates/duplicate_search.h"
#include "duplicates/hash_file.h"

namespace ffkit {

// What is hashed of the records of a split.
struct HashedField {
  std::optional<size_t> position;  // in the schema; none: whole records
  std::string name;                // empty: whole records
  HashKind kind = HashKind::bytes;
};

// Chooses the field; adds to `notes` what the user should know about it. Throws
// Error(invalid_argument) for a field that there is not.
HashedField choose_hashed_field(const Dataset& dataset, const std::string& wanted,
                                std::vector<std::string>& notes);

// Fills `hashes`, one a record of `dataset`, from side files in `folder`; what they lack keeps
// state `missing`. A field that is hashed as bytes is also taken from a whole file of its pictures,
// and a subset from the whole file of its split. Returns how many it filled.
int64_t load_split_hashes(const Dataset& dataset, const HashedField& field,
                          const std::filesystem::path& folder, std::span<RecordHash> hashes);

// Fills what is missing in `hashes` from the records, and keeps it in the side file; without
// `folder` in none. Uses all threads of the arena. A side file that cannot be written is a note.
// Throws what reading a data set throws, but for damaged records; Error(cancelled) when
// progress.stop is set.
void hash_split(const Dataset& dataset, const HashedField& field,
                const std::filesystem::path& folder, std::span<RecordHash> hashes,
                DuplicateProgress& progress, std::vector<std::string>& notes);

// The states of `hashes`, and what is wrong with the first of those that cannot be decoded or
// read.
HashCounts count_hashes(const Dataset& dataset, const HashedField& field,
                        std::span<const RecordHash> hashes);

// Gives pictures in the dct code the content hash of the JPEGs that they stand for: those with a
// hash that is among `jpegs`, sorted, which are the hashes of pictures not in the dct code. (A JPEG
// and its dct code have the same pixels.) Without `jpegs` all of them.
void hash_dct_as_jpeg(const Dataset& dataset, const HashedField& field,
                      const std::optional<std::vector<uint64_t>>& jpegs,
                      std::span<RecordHash> hashes);

}  // namespace ffkit
