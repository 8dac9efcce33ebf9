#include "text/text_listing.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include <ffkit/base/crc32c.h>

#include "converter/input/source_error.h"

namespace ffkit {
namespace {

constexpr int64_t kScanBytes = 4 << 20;
constexpr int64_t kLayoutBytes = 64 << 10;

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

// The file in pieces, front to back; returns its CRC-32C.
template <typename OnPiece>
uint32_t scan_pieces(const TextFiles& files, size_t file, std::vector<char>& chunk,
                     const OnPiece& on_piece) {
  const int64_t size = files.num_bytes(file);
  chunk.resize(static_cast<size_t>(std::min(kScanBytes, size)));
  uint32_t crc = 0;
  for (int64_t base = 0; base < size; base += kScanBytes) {
    const auto length = static_cast<size_t>(std::min(kScanBytes, size - base));
    const auto bytes = std::as_writable_bytes(std::span(chunk)).first(length);
    files.read_at(file, base, bytes);
    crc = crc32c(bytes, crc);
    on_piece(std::string_view(chunk.data(), length), base);
  }
  return crc;
}

void list_lines(TextSplit& split, size_t file, std::vector<char>& chunk, LineBlocks& blocks) {
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
  split.file_crc32c.push_back(scan_pieces(split.files, file, chunk, on_piece));
  const int64_t size = split.files.num_bytes(file);
  if (line_begin < size) blocks.add(line_begin, size);
  blocks.flush(size);
}

void list_elements(TextSplit& split, size_t file, int64_t begin, std::vector<char>& chunk,
                   LineBlocks& blocks) {
  blocks.begin_file(static_cast<uint32_t>(file), 0);
  int64_t last = 0;
  JsonDocuments documents(split.layouts[file], [&](int64_t from, int64_t to) {
    blocks.add(from, to);
    last = to;
  });
  const auto on_piece = [&](std::string_view piece, int64_t base) {
    const auto num_skipped = static_cast<size_t>(base == 0 ? begin : 0);
    documents.add(piece.substr(num_skipped), base + static_cast<int64_t>(num_skipped));
  };
  try {
    split.file_crc32c.push_back(scan_pieces(split.files, file, chunk, on_piece));
    documents.finish(split.files.num_bytes(file));
  } catch (const Error& error) {
    if (!error.context().path.empty()) throw;
    throw error.within({.path = split.files.paths()[file].string()});
  }
  blocks.flush(last);
}

void list_documents(TextSplit& split, const BlockRules& rules) {
  LineBlocks blocks(split, rules.block_bytes, rules.max_document_bytes);
  std::vector<char> chunk;
  std::string head;
  for (size_t file = 0; file < split.files.paths().size(); ++file) {
    head.resize(static_cast<size_t>(std::min(split.files.num_bytes(file), kLayoutBytes)));
    split.files.read_at(file, 0, std::as_writable_bytes(std::span(head)));
    const size_t mark = mark_length(head);
    if (mark > 0) ++split.num_marks;
    const bool is_called_json = plain_name(split.files.paths()[file]).ends_with(".json");
    split.layouts.push_back(rules.is_json
                                ? json_layout(std::string_view(head).substr(mark), is_called_json)
                                : JsonLayout::lines);
    if (split.layouts.back() == JsonLayout::lines) {
      list_lines(split, file, chunk, blocks);
    } else {
      list_elements(split, file, static_cast<int64_t>(mark), chunk, blocks);
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

size_t mark_length(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

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
                                 "split '{}': its files are empty", split.name));
  }
  return split;
}

}  // namespace ffkit
