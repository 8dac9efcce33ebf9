// Text listing: the files of a text corpus, and the blocks of documents that they are cut into before anything is tokenised.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sources/files/file_group.h"
#include "sources/files/shard_files.h"

namespace ffkit {

enum class DocumentIs : uint8_t { line, file };

// Some lines of one file, or some whole files behind each other.
struct TextBlock {
  uint32_t file = 0;  // the first one, in the split's files
  uint32_t num_files = 1;
  int64_t offset = 0;     // in the file; of whole files 0
  int64_t num_bytes = 0;  // of all files together
  int64_t first_line = 1;
};

struct TextSplit {
  std::string name;
  bool is_training = false;
  FileGroup files;
  std::vector<int64_t> file_bytes;
  std::vector<int64_t> file_times;    // of modification, in ns since 1970
  std::vector<uint32_t> file_crc32c;  // where a document is a line: the files have been read then
  std::vector<TextBlock> blocks;
};

// The files of `path` that end with `ending`, by split. JSON lines and files in one folder as find_shards() says; other texts at any depth, where the folders
// of the first level are splits when all of them are named as splits are. Throws as find_shards(), and Error(not_found) without any file.
ShardListing find_texts(const std::filesystem::path& path, const std::string& ending);

// Cuts the files into blocks of about `block_bytes`, a document more or less. A document of more than `max_document_bytes` is a block of its own. Where a document is a line,
// reads all files once. Throws Error(not_found) for a split without any text, Error(io).
TextSplit list_text_blocks(ShardSplit listed, DocumentIs document, int64_t block_bytes,
                           int64_t max_document_bytes);

// Length of UTF-8's byte-order mark at the beginning of `text`, or 0.
size_t mark_length(std::string_view text);

}  // namespace ffkit
