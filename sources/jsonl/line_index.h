// Line index: where the documents of a file of JSON begin, so that any of them is one read. 16
// bytes a document.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "files/json_documents.h"
#include "files/text_files.h"

namespace ffkit {

struct TextLine {
  int64_t offset = 0;
  int64_t number = 0;  // from 1, as editors count; of an element from 0, as Python does
};

struct LineIndex {
  JsonLayout layout = JsonLayout::lines;
  std::vector<TextLine> lines;
  uint32_t crc32c = 0;  // of the file behind its byte-order mark
  bool has_mark = false;
};

// The lines of a file that hold more than white space, or the elements of its array. Each reaches
// to the next one's offset, or the end of the file: document_of() leaves out what is between. A
// byte-order mark is no part of the first line. Reads the whole file once. Throws Error(corrupt)
// for an array that is damaged.
LineIndex index_lines(const TextFiles& files, size_t file);

// The document in what index_lines() says of it.
std::string_view document_of(std::string_view text, JsonLayout layout);

}  // namespace ffkit
