// Texts as tokens. Throws Error with file, reason and remedy. describe() declares the options,
// which must outlive the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Texts as tokens: a file, or a folder of files at any depth. Documents are joined to blocks
// (ffkit/text/token_data.h) of about `block_bytes` of text; each block is a record. With a
// tokenizer there is a split "tokenizer", too. Splits come from the names of folders and files.
//
//   .jsonl .ndjson .json    a document is a line, or an element of an array: the text of its member
//                           `text_field`, or the tokens of its member `tokens_field`
//   .txt, or `ending`       a document is a file, or a line; an empty line is an empty document
//
// Each may be compressed (.gz, .zst, .bz2, .xz): such files are decompressed once into temporary
// files without names. Files of another kind by their first bytes, such as pictures, are an error.
// In JSON only the needed member is checked; if it appears twice, the last one counts, as in
// Python.
//
// Bytes that are not UTF-8 become U+FFFD and are counted, and a byte-order mark at the beginning of
// a file is left out, except with the tokenizer "bytes". Documents without a token are counted and
// left out. These are errors that name file and line: a token outside of the vocabulary, a document
// that is not a JSON object with the member, and one longer than `max_document_bytes`. Unless
// ConvertOptions::bad_samples is fail, only the document is left out and reported. If a document is
// a file, listing needs only sizes; otherwise all texts are read once.
struct TextOptions {
  // As Tokenizer::open() takes it; may be empty with `tokens_field`.
  std::filesystem::path tokenizer;
  // The ending of the files' names, compressed or not; empty: JSON if there is any, else .txt.
  std::string ending;
  // Unit that becomes a document in text files: "file" or "line"; empty: file. With "file", .json
  // files are texts.
  std::string document;
  std::string text_field = "text";
  std::string tokens_field;         // an array of tokens, instead of a text; empty: texts
  int64_t vocabulary_size = 0;      // without a tokenizer: 1 .. 2^24
  int64_t end_of_text = -1;         // the token behind each document; -1: what the tokenizer says
  int64_t block_bytes = 256 << 10;  // 1 KiB .. 1 GiB
  int64_t max_document_bytes = 64 << 20;      // 1 KiB .. 1 GiB
  std::filesystem::path temporary_folder;     // for decompressed text; empty: $TMPDIR or /tmp
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
  const GroupOfFiles* group = nullptr;        // the files that are taken; null: all
};
void describe(TextOptions& options, OptionTable& table);
// Throws Error(invalid_argument) for options that are wrong for any data.
void validate(const TextOptions& options);
std::unique_ptr<Source> open_text(const std::filesystem::path& path, const TextOptions& options);
FileListing text_files(const std::filesystem::path& path, const TextOptions& options);

}  // namespace ffkit
