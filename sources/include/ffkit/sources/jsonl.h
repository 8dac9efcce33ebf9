// Lines of JSON. Throws Error with file, reason and remedy. describe() declares the options, which
// must outlive the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

#include <ffkit/base/option_table.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// JSON lines: a file with one object per line, or an array of objects; or a folder of such files at
// any depth (*.jsonl, *.ndjson, *.json, each also with .gz, .zst, .bz2 or .xz, which are
// decompressed once into temporary files without names). The split comes from the folder or the
// file name (train-00001-of-00008.jsonl, val.jsonl); otherwise it is "train". The fields are the
// members of the first line's object:
//
//   text                string; "id" is a column
//   whole numbers       tensor of `token_dtype`, of the array's shape
//   true, false         scalar u8, column             other numbers   tensor of `real_dtype`
//   whole number        scalar i64, column            texts           list of strings
//   other number        scalar f64, column            anything else   string of its JSON text
//
// Every line must have the same members, in any order; null is a null field. All lines determine
// the types: whole numbers and others together are other numbers; null and [] do not count. Numbers
// that token_dtype cannot hold are errors. Empty lines are ignored. Memory: 16 bytes per line. A
// line of more than `max_line_bytes`, 1 KiB .. 4 GiB, is a bad sample, because parsing takes up to
// about ten times its size, in each thread.
struct JsonlOptions {
  DType token_dtype = DType::i32;  // of arrays of whole numbers: u16, i32 or i64
  DType real_dtype = DType::f64;   // of arrays of other numbers: f32 or f64
  int64_t max_line_bytes = 64 << 20;
  std::filesystem::path temporary_folder;     // for decompressed text; empty: $TMPDIR or /tmp
  int num_threads = 0;                        // that settle the types; 0: one for each core
  const std::atomic<bool>* cancel = nullptr;  // once set, listing ends with Error(cancelled)
  const GroupOfFiles* group = nullptr;        // the files that are taken; null: all
};
void describe(JsonlOptions& options, OptionTable& table);
std::unique_ptr<Source> open_jsonl(const std::filesystem::path& path,
                                   const JsonlOptions& options = {});
FileListing jsonl_files(const std::filesystem::path& path, const JsonlOptions& options = {});

}  // namespace ffkit
