#include "text/text_listing.h"

#include <cstring>
#include <string_view>

#include "converter/input/source_error.h"

namespace ffkit {
namespace {

// Blocks of lines, as they are found.
class LineBlocks {
 public:
  LineBlocks(TextSplit& split, int64_t block_bytes, int64_t max_document_bytes)
      : split_(split), block_bytes_(block_bytes), max_document_bytes_(max_document_bytes) {}

  void begin_file(uint32_t file, int64_t first_line) {
    file_ = file;
    line_ = first_line;
    block_ = {.file = file, .first_line = first_line};
  }

  // A document from `begin` to `end`, of a line its line feed included.
  void add(int64_t begin, int64_t end) {
    if (num_documents_ == 0) block_.offset = begin;
    ++num_documents_;
    const bool is_long = end - begin > max_document_bytes_;
    if (is_long) {
      --num_documents_;
      flush(begin);
      num_documents_ = 1;
    }
    ++line_;
    if (is_long || end - block_.offset >= block_bytes_) flush(end);
  }

  // The next block begins at `end`.
  void flush(int64_t end) {
    block_.num_bytes = end - block_.offset;
    if (num_documents_ > 0) split_.blocks.push_back(block_);
    num_documents_ = 0;
    block_ = {.file = file_, .offset = end, .first_line = line_};
  }

 private:
  TextSplit& split_;
  const int64_t block_bytes_;
  const int64_t max_document_bytes_;
  uint32_t file_ = 0;
  int64_t line_ = 1;
  int64_t num_documents_ = 0;  // in the block
  TextBlock block_;
};

void list_lines(TextSplit& split, size_t file, LineBlocks& blocks) {
  blocks.begin_file(static_cast<uint32_t>(file), 1);
  int64_t line_begin = 0;
  const auto on_piece = [&](std::string_view piece, int64_t base) {
    for (size_t i = 0; i < piece.size();) {
      const void* found = std::memchr(piece.data() + i, '\n', piece.size() - i);
      if (found == nullptr) break;
      i = static_cast<size_t>(static_cast<const char*>(found) - piece.data()) + 1;
      blocks.add(line_begin, base + static_cast<int64_t>(i));
      line_begin = base + static_cast<int64_t>(i);
    }
  };
  split.file_crc32c.push_back(scan_pieces(split.files, file, 0, on_piece));
  const int64_t size = split.files.num_bytes(file);
  if (line_begin < size) blocks.add(line_begin, size);
  blocks.flush(size);
}

void list_elements(TextSplit& split, size_t file, int64_t begin, LineBlocks& blocks) {
  blocks.begin_file(static_cast<uint32_t>(file), 0);
  int64_t last = 0;
  const auto on_document = [&](int64_t from, int64_t to) {
    blocks.add(from, to);
    last = to;
  };
  split.file_crc32c.push_back(
      scan_documents(split.files, file, split.layouts[file], 0, begin, on_document));
  blocks.flush(last);
}

void list_documents(TextSplit& split, const BlockRules& rules) {
  LineBlocks blocks(split, rules.block_bytes, rules.max_document_bytes);
  for (size_t file = 0; file < split.files.paths().size(); ++file) {
    const std::string head = head_of(split.files, file);
    const size_t mark = mark_length(head);
    if (mark > 0) ++split.num_marks;
    split.layouts.push_back(rules.is_json ? json_layout_of(split.files, file, head)
                                          : JsonLayout::lines);
    if (split.layouts.back() == JsonLayout::lines) {
      list_lines(split, file, blocks);
    } else {
      list_elements(split, file, static_cast<int64_t>(mark), blocks);
    }
  }
}

void list_files(TextSplit& split, int64_t block_bytes, int64_t max_document_bytes) {
  TextBlock block{.num_files = 0};
  const auto flush = [&](size_t next) {
    if (block.num_files > 0) split.blocks.push_back(block);
    block = {.file = static_cast<uint32_t>(next), .num_files = 0};
  };
  for (size_t file = 0; file < split.files.paths().size(); ++file) {
    const bool is_long = split.files.num_bytes(file) > max_document_bytes;
    if (is_long) flush(file);
    ++block.num_files;
    block.num_bytes += split.files.num_bytes(file);
    if (is_long || block.num_bytes >= block_bytes) flush(file + 1);
  }
  flush(split.files.paths().size());
}

}  // namespace

int64_t TextSplit::num_bytes() const {
  int64_t num_bytes = 0;
  for (size_t file = 0; file < files.paths().size(); ++file) num_bytes += files.num_bytes(file);
  return num_bytes;
}

TextSplit list_text_blocks(ShardSplit listed, const BlockRules& rules) {
  const bool is_line = rules.document == DocumentIs::line;
  TextSplit split{
      .name = listed.name,
      .is_training = listed.is_training,
      .files = TextFiles(
          std::move(listed.files),
          {.is_json = rules.is_json, .looks_inside = is_line, .needs_utf8 = rules.needs_utf8},
          rules.place)};
  if (is_line) {
    list_documents(split, rules);
  } else {
    list_files(split, rules.block_bytes, rules.max_document_bytes);
  }
  if (split.blocks.empty()) {
    throw NoSamples(source_error(split.files.paths().front(), ErrorCode::not_found,
                                 "all files of split '{}' are empty", split.name));
  }
  return split;
}

}  // namespace ffkit
