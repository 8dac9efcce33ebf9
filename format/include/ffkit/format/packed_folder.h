// PackedFolder: a folder tree in one FFRecord v1 file (FORMAT.md, "Version 1"), as made by
// pack_folder() of the original package. Read only. All const functions are thread-safe. A
// moved-from object can only be destroyed or assigned to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/shard_reader.h>

namespace ffkit {

class PackedFolder {
 public:
  // Whether `path` is a v1 file that ends as a packed folder does. Throws Error(not_found) or
  // Error(io).
  static bool is_packed_folder(const std::filesystem::path& path);

  // Throws Error(corrupt) if the file is not a packed folder, or its tree has names that lead out
  // of it, paths of more than 4096 bytes, duplicates or missing files; Error(unsupported) if the
  // tree is longer than options.max_record_bytes.
  explicit PackedFolder(const std::filesystem::path& path, const ShardReaderOptions& options = {});

  struct File {
    std::string path;    // relative, "a/b/z.bin"
    int64_t record = 0;  // its number in the v1 file
    int64_t num_bytes = 0;
  };
  // In the tree's order.
  [[nodiscard]] const std::vector<File>& files() const noexcept { return files_; }
  // Empty ones too, parents first.
  [[nodiscard]] const std::vector<std::string>& folders() const noexcept { return folders_; }
  // Position of the file `path` in files(); throws Error(not_found).
  [[nodiscard]] size_t find(const std::string& path) const;
  // Reads files()[i] into `out` and checks its checksum. Throws Error(invalid_argument) if there is
  // no such file, and Error(unsupported) if it is longer than options.max_record_bytes.
  void read(size_t i, std::vector<std::byte>& out) const;

 private:
  int64_t max_file_bytes_;
  ShardReader reader_;
  std::vector<File> files_;
  std::vector<std::string> folders_;
};

}  // namespace ffkit
