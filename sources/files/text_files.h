// TextFiles: files of text of which ranges are read, from many threads, plain ones in place.
// Compressed ones are told by their first bytes, whatever their names, and are decompressed when
// this is made, once, as streams, into temporary files without names.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/crc32c.h>

#include "files/decompressed_files.h"
#include "files/file_group.h"

namespace ffkit {

// What is done beside listing.
struct SpoolPlace {
  std::filesystem::path folder;  // as Spool takes it
  const std::atomic<bool>* cancel = nullptr;
  int num_threads = 0;  // that decompress; 0: one for each core
};

struct TextFileRules {
  bool is_json = false;      // web pages and the like are no such text
  bool looks_inside = true;  // into every file when it is listed
  // UTF-16 and UTF-32 are refused: not by a tokenizer that takes every byte.
  bool needs_utf8 = true;
};

class TextFiles {
 public:
  // `rules.looks_inside`: reads the first bytes of every file, and throws Error(unsupported) for
  // what is no text by them, such as a picture. Else only of those whose names say that they are
  // compressed: for many small files, which are looked at when they are read (require_text()).
  // Throws Error(not_found), Error(io) for files that cannot be read, Error(corrupt) for damaged
  // ones, Error(cancelled).
  TextFiles(std::vector<std::filesystem::path> paths, const TextFileRules& rules,
            const SpoolPlace& place);

  const std::vector<std::filesystem::path>& paths() const { return files_.paths(); }
  // Of the text, decompressed.
  int64_t num_bytes(size_t file) const { return stamps_.at(file).num_bytes; }
  // Of the file as it is, in ns since 1970.
  int64_t modified_ns(size_t file) const { return stamps_.at(file).modified_ns; }
  bool is_compressed(size_t file) const { return ranges_.at(file).has_value(); }

  // As FileGroup::read_at.
  void read_at(size_t file, int64_t offset, std::span<std::byte> out) const;

  // As FileGroup::will_read.
  void will_read(size_t file, int64_t offset, int64_t num_bytes) const {
    if (!ranges_.at(file)) files_.will_read(file, offset, num_bytes);
  }

  // "3 compressed files (4 MB) became 12 MB of text in temporary files in /fast"; empty without
  // any.
  std::string note() const;

 private:
  struct Range {
    size_t spool = 0;
    int64_t offset = 0;
  };
  void decompress(const std::vector<size_t>& files, const TextFileRules& rules,
                  const SpoolPlace& place);

  std::vector<FileStamp> stamps_;  // before the files: its messages are about links, too
  FileGroup files_;
  std::vector<std::optional<Range>> ranges_;  // of compressed ones
  std::vector<Spool> spools_;
  int64_t compressed_bytes_ = 0;
};

// The files of a split, which were found at `path` and have been read, as inputs.
std::vector<SourceInput> inputs_of_texts(const std::filesystem::path& path, const TextFiles& files,
                                         const std::vector<uint32_t>& crc32c);
// What a user should know of them. `num_marks` begin with a byte order mark, which is left out.
void note_texts(const std::string& split, const TextFiles& files, int64_t num_marks,
                std::vector<std::string>& notes);

// The first 64 KiB of a file, or all of it.
std::string head_of(const TextFiles& files, size_t file);

// Reads a file from `begin` on, front to back: on_piece(text, offset). Returns the CRC-32C of what
// it has read.
template <typename OnPiece>
uint32_t scan_pieces(const TextFiles& files, size_t file, int64_t begin, const OnPiece& on_piece) {
  constexpr int64_t kPieceBytes = 4 << 20;
  const int64_t size = files.num_bytes(file);
  std::vector<char> piece(static_cast<size_t>(std::min(kPieceBytes, size)));
  uint32_t crc = 0;
  for (int64_t offset = begin; offset < size; offset += kPieceBytes) {
    const auto length = static_cast<size_t>(std::min(kPieceBytes, size - offset));
    const auto bytes = std::as_writable_bytes(std::span(piece)).first(length);
    files.read_at(file, offset, bytes);
    crc = crc32c(bytes, crc);
    on_piece(std::string_view(piece.data(), length), offset);
  }
  return crc;
}

// Length of UTF-8's byte-order mark at the beginning of `text`, or 0.
size_t mark_length(std::string_view text);

// The name without the ending of compressed data, ".gz", ".zst", ".bz2" or ".xz", in lower case:
// "Books.JSONL.GZ" is "books.jsonl".
std::string plain_name(const std::filesystem::path& file);

// Throws Error(unsupported) when a file that begins with `head` is no text; `file` is named.
void require_text(std::span<const std::byte> head, const TextFileRules& rules,
                  const std::filesystem::path& file);

// Text files line by line, such as lists of classes.

// Calls body(line, number) with every line, counted from 1, without its "\n" or "\r\n". The last
// line may lack it.
template <typename Body>
void for_each_line(std::string_view text, const Body& body) {
  for (int64_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    body(line, number);
  }
}

// Lists of classes that a user gives: a text file with the name of one class a line. Throws
// Error(invalid_argument) for a file without lines, with an empty one, or that is no UTF-8 text;
// Error(unsupported) for one of more than 64 MiB.
std::vector<std::string> read_class_list(const std::filesystem::path& path);

}  // namespace ffkit
