// Compressed files, and the temporary files that they are decompressed to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archives/tar_index.h"
#include "converter/input/input_file.h"
#include "files/file_group.h"

namespace ffkit {

// Spool: a temporary file that has no name, and so is gone whatever becomes of the process. Written
// by one thread from front to back, then read from many.
class Spool {
 public:
  // In `folder`, or its nearest parent that is there; where that cannot be written to, or is empty,
  // in $TMPDIR or /tmp. Throws Error(io).
  explicit Spool(const std::filesystem::path& folder);

  // Where it is.
  const std::filesystem::path& folder() const noexcept { return file_.path(); }
  int64_t size() const noexcept { return size_; }

  // Throws Error(io), with a remedy when the disk is full.
  void append(std::span<const std::byte> bytes);
  // Reads exactly out.size() bytes, which have been written; throws as File::read_at().
  void read_at(int64_t offset, std::span<std::byte> out) const { file_.read_at(offset, out); }
  // Gives the file away, to be read as any other; `name` stands for it in messages. Nothing else
  // may be called after that.
  InputFile release(const std::filesystem::path& name) {
    return InputFile(File::adopt(file_.release(), name));
  }

 private:
  File file_;  // called as its folder
  int64_t size_ = 0;
};

// DecompressedFiles: compressed files, each decompressed once from front to back into a temporary
// file without a name, where what they hold is read in place. Immutable, thread-safe.
class DecompressedFiles {
 public:
  // The range of file number `file` that is one compressed stream; nothing of a file that is to be
  // read as it is.
  using FindStream = std::function<std::optional<FileRange>(size_t file, const InputFile& opened)>;

  // Decompresses those of `files` that are compressed, by their first bytes. The temporary files
  // are where Spool has them. Throws Error(corrupt) for damaged data, Error(unsupported) for a
  // compression that is not known, Error(cancelled) once `cancel`, which may be null, is true.
  // `noun`: what such a file is called in messages. `find_stream`: where a format says itself what
  // is compressed.
  DecompressedFiles(const FileGroup& files, const std::filesystem::path& temporary_folder,
                    const std::atomic<bool>* cancel, std::string_view noun = "file",
                    const FindStream& find_stream = {});

  // Where the data of a file lie.
  struct Place {
    const InputFile& file;
    FileRange range;
  };
  // None for a file that is not compressed.
  std::optional<Place> find(size_t file) const;
  // "2 compressed files were decompressed into temporary files of 12 MB in FOLDER"; empty without
  // any.
  const std::string& note() const { return note_; }

 private:
  struct Decompressed {
    size_t spool = 0;
    FileRange range;
  };

  std::vector<InputFile> spools_;
  std::vector<std::optional<Decompressed>> decompressed_;  // of each file
  std::string note_;
};

}  // namespace ffkit
