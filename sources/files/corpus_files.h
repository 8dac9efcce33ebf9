// Corpus files: the files of a set of texts or of JSON documents, by split, at any depth of
// folders.
//
//   .json .jsonl .ndjson     JSON documents            each also with .gz, .zst, .bz2 or .xz behind
//                                                      it
//   .txt, or as asked for    texts, where there is no JSON
//
// Names and folders that begin with a dot are passed over. What else is there is left out and
// noted.
#pragma once

#include <filesystem>
#include <string>

#include "files/shard_files.h"

namespace ffkit {

struct CorpusQuery {
  std::string ending = {};  // of the files' names, as the user asks for it; empty: as above
  bool takes_texts = true;  // false: JSON alone, and a file that is given is JSON whatever its name
};

struct Corpus {
  bool is_json = false;
  ShardListing listing;
};

// `path`: a folder, or one file. Splits are told by the folders that have names of splits, and else
// by the files' names; JSON in other folders makes a split of each, texts are then all 'train'. One
// folder that holds everything is passed through. A file without an ending that tells is JSON when
// its first line is an object. Throws Error(not_found) when there is nothing,
// Error(invalid_argument) when it is not clear which files are meant.
Corpus find_corpus(const std::filesystem::path& path, const CorpusQuery& query);

}  // namespace ffkit
