// FileRows: the table of a format whose rows are ranges of files, compressed as a whole or not. A
// subclass lists the ranges and parses the bytes of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/row_sources.h>

#include "archives/tar_index.h"
#include "converter/input/source_error.h"
#include "files/decompressed_files.h"
#include "files/file_group.h"
#include "rows/row_table.h"

namespace ffkit {

class FileRows : public RowTable {
 public:
  const std::vector<RowColumn>& columns() const final { return columns_; }
  const std::vector<SourceSplit>& splits() const final { return infos_; }
  const std::vector<std::string>& notes() const final { return notes_; }
  // "kind", "path" and "files".
  std::map<std::string, std::string> facts(size_t split) const override;
  std::vector<std::filesystem::path> roots() const override;
  std::vector<SourceInput> inputs(size_t split) const override;
  int64_t row_bytes(size_t split, int64_t row) const final;
  std::string name(size_t split, int64_t row) const override;
  std::string describe(size_t split, int64_t row) const override;
  void will_read(size_t split, int64_t row) const override;
  // Reads the row's bytes and has them parsed.
  void read(size_t split, int64_t row, std::span<RowValue> values,
            SampleBuffers& buffers) const override;

 protected:
  // `kind`: the format's name, as in facts(). `path`: what was given.
  FileRows(std::string kind, std::filesystem::path path, const RowOptions& options);

  // A split with files, and no rows yet. Files of gzip, zstd, bzip2 and xz data are decompressed,
  // each once, into temporary files; so is what `find_stream` says, where it is given. Returns its
  // number.
  size_t add_split(std::string name, bool is_training, FileGroup files,
                   const DecompressedFiles::FindStream& find_stream = {});
  // Of file number `file` of a split, once it is decompressed.
  int64_t file_bytes(size_t split, size_t file) const;
  // Bytes of that file; throws as InputFile::read_at().
  void read_file(size_t split, size_t file, int64_t offset, std::span<std::byte> out) const;
  // Has a range fetched, as far as there is one.
  void will_read_file(size_t split, size_t file, int64_t offset, int64_t num_bytes) const;
  const FileGroup& files(size_t split) const { return splits_.at(split).files; }
  // The rows of one file, in their order; files in their order. Not thread-safe.
  void add_rows(size_t split, std::span<const FileRange> ranges);

  // A row's file, and its number in it.
  struct Place {
    size_t file = 0;
    int64_t row = 0;
  };
  Place place_of(size_t split, int64_t row) const;

  // The bytes of a row; throws Error(unsupported) for a row that is too large.
  std::span<const std::byte> row_data(size_t split, int64_t row, SampleBuffers& buffers) const;

  // Sets `values` (columns().size() of them) to those of a row. A table whose rows are not parsed
  // from one range overrides read() instead.
  virtual void parse(std::span<const std::byte> row, std::span<RowValue> values,
                     SampleBuffers& buffers) const;

  const std::filesystem::path& path() const { return path_; }
  // Adds a sentence on what is at path().
  template <typename... Args>
  void note(fmt::format_string<Args...> sentence, Args&&... args) {
    add_note(notes_, shown_place(path_), sentence, std::forward<Args>(args)...);
  }
  const RowOptions& options() const { return options_; }

  std::vector<RowColumn> columns_;
  std::vector<std::string> notes_;

 private:
  struct Split {
    FileGroup files;
    DecompressedFiles decompressed;
    std::vector<size_t> first_row;  // of each file; then the number of all
    std::vector<FileRange> rows;
  };

  const std::string kind_;
  const std::filesystem::path path_;
  const RowOptions options_;
  std::vector<Split> splits_;
  std::vector<SourceSplit> infos_;
};

}  // namespace ffkit
