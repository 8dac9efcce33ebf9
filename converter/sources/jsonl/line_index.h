// Line index: where the lines of a text file begin, so that any of them is one read. 16 bytes a line.
#pragma once

#include <cstdint>
#include <vector>

#include "input/input_file.h"

namespace ffkit {

struct TextLine {
  int64_t offset = 0;
  int64_t number = 0;  // from 1, as editors count
};

struct LineIndex {
  std::vector<TextLine> lines;
  uint32_t crc32c = 0;  // of the whole file
};

// The lines of `file` that hold more than white space. A line reaches to the next one's offset, or the end of the file: what is between is
// white space. A byte-order mark is no part of the first line. Reads the whole file once.
LineIndex index_lines(const InputFile& file);

}  // namespace ffkit
