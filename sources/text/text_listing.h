// Text listing: the files of a text corpus, and the blocks of documents that they are cut into
// before anything is tokenised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/json_documents.h"
#include "files/shard_files.h"
#include "files/text_files.h"

namespace ffkit {

enum class DocumentIs : uint8_t { line, file };

// Some lines, or elements of an array, of one file; or some whole files behind each other.
struct TextBlock {
  uint32_t file = 0;  // the first one, in the split's files
  uint32_t num_files = 1;
  int64_t offset = 0;      // in the file; of whole files 0
  int64_t num_bytes = 0;   // of all files together
  int64_t first_line = 1;  // of an array: the first element, from 0 as in Python
};

struct TextSplit {
  std::string name;
  bool is_training = false;
  TextFiles files;
  std::vector<uint32_t> file_crc32c;  // where a document is a line: the files have been read then
  std::vector<JsonLayout> layouts;    // of each file, where a document is a line
  std::vector<TextBlock> blocks;
  int64_t num_marks = 0;  // files that begin with a byte-order mark, where a document is a line

  // Of all files, decompressed.
  int64_t num_bytes() const;
};

// Cuts the files into blocks of about `block_bytes`, a document more or less. A document of more
// than `max_document_bytes` is a block of its own. Where a document is a line, reads all files
// once. Throws Error(not_found) for a split without any text, Error(io).
struct BlockRules {
  DocumentIs document = DocumentIs::file;
  bool is_json = false;
  int64_t block_bytes = 0;
  int64_t max_document_bytes = 0;
  bool needs_utf8 = true;
  SpoolPlace place = {};
};
TextSplit list_text_blocks(ShardSplit listed, const BlockRules& rules);

}  // namespace ffkit
