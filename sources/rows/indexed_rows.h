// Files of samples that an index.json lists: the index, and the rows.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/sources/row_sources.h>

#include "base/make_error.h"
#include "rows/file_rows.h"

namespace ffkit {

// IndexFile: the index.json that MosaicML's and LitData's writers put beside their files.
//
//   folder/index.json                      one split, 'train'
//   folder/train/index.json, val/...       splits by their folders' names
//
// Thread-compatible: values point into the IndexFile that they come from.

// One value in a JSON file. What is not as asked for is Error(corrupt) with the file and the
// place in it, "shards[3].samples".
class IndexValue {
 public:
  IndexValue(simdjson::dom::element value, const std::filesystem::path& file, std::string where)
      : value_(value), file_(&file), where_(std::move(where)) {}

  // The member `key`.
  [[nodiscard]] IndexValue at(const char* key) const;
  // Nothing where the member is absent or null.
  [[nodiscard]] std::optional<IndexValue> find(const char* key) const;
  [[nodiscard]] bool is_null() const { return value_.is_null(); }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] int64_t count() const;  // >= 0
  [[nodiscard]] std::vector<IndexValue> list() const;
  // Texts by their keys.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> texts() const;
  // A name of a file below the folder; throws Error(unsupported) for one that leads out of it.
  [[nodiscard]] std::filesystem::path relative_path() const;
  // Error(code) about this value: "<file>: <where> <message>".
  [[nodiscard]] Error error(ErrorCode code, const std::string& message) const;

 private:
  simdjson::dom::object members() const;

  simdjson::dom::element value_;
  const std::filesystem::path* file_;
  std::string where_;
};

class IndexFile {
 public:
  // Reads `folder`/index.json, of 1 GiB at most. Throws as read_source_bytes(), Error(corrupt) for
  // what is no JSON.
  explicit IndexFile(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  // Lives as long as the IndexFile, which stays where it is.
  const IndexValue& root() const { return *root_; }
  // The file, as it was read. `name`: what it is called in the data set.
  SourceInput input(std::string name) const;

 private:
  std::filesystem::path path_;
  int64_t num_bytes_ = 0;
  uint32_t crc32c_ = 0;
  simdjson::dom::parser parser_;
  std::optional<IndexValue> root_;
};

struct IndexedFolder {
  std::string split;
  bool is_training = false;
  std::filesystem::path folder;
};

// `path` itself, where it has an index.json, else its folders that have one; training splits first.
// Notes say what was left out. Throws Error(not_found) when there are none. `writer`: whose files
// they are, for messages.
std::vector<IndexedFolder> find_indexed_folders(const std::filesystem::path& path,
                                                const char* writer,
                                                std::vector<std::string>& notes);

// IndexedRows: FileRows of files that an index.json lists, each with a table of its rows in front:
//
//   u32 n │ u32 offsets[n + 1], from the file's beginning │ ... │ rows
//
// MosaicML's shards and LitData's chunks are such files. A subclass reads the index and parses
// rows.

// A file as the index has it.
struct IndexedFile {
  // Where it may be, the one that is taken first; the second, if any, is its compressed form.
  std::filesystem::path path;
  std::optional<std::filesystem::path> compressed;
  int64_t num_rows = 0;
  int64_t num_bytes = -1;  // decompressed; -1: the index does not say it
  // Why the compressed form cannot be read; empty: it can.
  std::string refused_compression;
  // By Python's name of the algorithm, of the plain file; in hexadecimal digits.
  std::vector<std::pair<std::string, std::string>> hashes = {};
};

// A column that has no type here, and why: "holds pickled Python objects, which are programs".
struct RefusedColumn {
  std::string name;
  std::string reason;
};

// Those of `files` that have rows, where they are. Throws as IndexedRows::add_indexed_split().
FilesOfSplit listed_files(const IndexedFolder& folder, const std::vector<IndexedFile>& files,
                          std::vector<std::string>& notes);

class IndexedRows : public FileRows {
 public:
  // The files, and the index.
  std::vector<SourceInput> inputs(size_t split) const override;

 protected:
  IndexedRows(std::string kind, const std::filesystem::path& path, const RowOptions& options);

  // A split with all rows of `files`, in their order. Rows that the index leaves out and files
  // without rows are said in notes_. Throws Error(not_found) for files that are not there,
  // Error(corrupt) for files that are not as the index or their own tables say, nor, with
  // options.check_hashes, as their hashes that are known here.
  void add_indexed_split(const IndexedFolder& folder, const IndexFile& index,
                         const std::vector<IndexedFile>& files);
  // Leaves out, with a note, a column that options.columns does not ask for; throws
  // Error(unsupported) for one that is wanted.
  void refuse(const std::vector<RefusedColumn>& columns, const RowOptions& options);

  // The range of an opened file that is one compressed stream; nothing: none. By default all of a
  // file that is the compressed form.
  virtual std::optional<FileRange> find_stream(const InputFile& opened, bool is_compressed) const;
  // The rows of a file; checks all but their number in the index. Several threads call it.
  virtual std::vector<FileRange> read_table(size_t split, size_t file);
  // The u32 offsets of a file's table, which are before byte `end`.
  std::vector<std::byte> offsets_of(size_t split, size_t file, int64_t end) const;
  // The ranges between the u32 offsets of `table`, one or more, which must ascend from `first` to
  // `end`, where the last one must be. Beyond 4 GiB they are those that the low 32 bits tell.
  static std::vector<FileRange> ranges_of(std::span<const std::byte> table, int64_t first,
                                          int64_t end);

  // What `look(row, buffers)` says of the first row that it does not throw an Error for; of the
  // first 1,000 alone.
  template <typename Look>
  auto by_first_row(const Look& look) const {
    constexpr int64_t kMaxRows = 1000;
    const int64_t num_rows = std::min(splits().at(0).num_samples, kMaxRows);
    for (int64_t row = 0;; ++row) {
      SampleBuffers buffers;
      try {
        return look(row_data(0, row, buffers), buffers);
      } catch (const Error& error) {
        if (row + 1 >= num_rows) {
          throw error.within({.path = describe(0, row)}).with_subject(ErrorSubject::source);
        }
      }
    }
  }

 private:
  void check_hashes(size_t split, size_t file, const IndexedFile& indexed) const;

  std::vector<SourceInput> indexes_;  // of each split
};

}  // namespace ffkit
