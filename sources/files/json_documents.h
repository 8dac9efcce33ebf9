// JSON documents: where they begin and end in a file of JSON, which people write in three ways.
// Brackets and quotation marks alone count; what is between is for a parser. The file is read front
// to back, in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "files/text_files.h"

namespace ffkit {

enum class JsonLayout : uint8_t {
  lines,     // a document a line
  array,     // [{...}, {...}]: the elements
  values,    // documents behind each other, of several lines each
  elements,  // a part of either of the two above: documents, with or without commas
};

// By the beginning of a file, without a byte-order mark, 64 KiB or all of it. `may_be_values`: the
// file is called .json, which does not say that it has lines.
JsonLayout json_layout(std::string_view head, bool may_be_values);
// Of a file that begins with `head`, which may have a byte-order mark.
JsonLayout json_layout_of(const TextFiles& files, size_t file, std::string_view head);

class JsonDocuments {
 public:
  // `on_document` is called with the offsets of a document's first byte and of the one behind it.
  JsonDocuments(JsonLayout layout, std::function<void(int64_t begin, int64_t end)> on_document);

  // The next bytes, of which the first is at `offset`. Throws Error(corrupt), with the offset and
  // without a path, for what cannot be JSON.
  void add(std::string_view text, int64_t offset);
  // Behind the last ones.
  void finish(int64_t offset);

 private:
  enum class Expects : uint8_t { array, first, value, comma, nothing };

  void between(char c, int64_t offset);
  void begin_document(char c, int64_t offset);
  void end_document(int64_t end);
  void pass_quoted(char c, int64_t offset);
  void pass_nested(char c, int64_t offset);
  [[noreturn]] static void fail(std::string_view what, int64_t offset);

  const JsonLayout layout_;
  const std::function<void(int64_t, int64_t)> on_document_;
  Expects expects_;
  int64_t begin_ = 0;
  int64_t depth_ = 0;  // brackets that are open in the document
  bool is_quoted_ = false;
  bool is_escaped_ = false;
  bool is_word_ = false;  // a document that is a number, true, ...
};

// Reads a file from `begin` on, and hands its documents from `documents_begin` on to `on_document`,
// as JsonDocuments does. Returns the CRC-32C of what it has read. Throws Error(corrupt) for a
// damaged array.
uint32_t scan_documents(const TextFiles& files, size_t file, JsonLayout layout, int64_t begin,
                        int64_t documents_begin,
                        const std::function<void(int64_t begin, int64_t end)>& on_document);

// Line index: where the documents of a file of JSON begin, so that any of them is one read. 16
// bytes a document.

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
