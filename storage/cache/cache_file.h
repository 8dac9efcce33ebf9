// CacheFile: the blocks that there are of one object, in one sparse file. A block stands where it
// stands in the object; behind the object, at the next page, there is what is known of it:
//
//   | block 0 | (hole) | block 2 | ... | header | entry 0 | entry 1 | ...
//                                        4 KiB    8 bytes: state, CRC-32C of the block
//
// A block is written first, its entry then, so that what an entry promises is there, whoever is
// killed. After a power cut the disk may have the entry alone: a file that was last opened before
// the machine was started anew has its blocks compared with their checksums, each when it is first
// needed. Removing the file takes nothing from who has it open. Thread-safe; several processes may
// have the file open.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file/file.h"

namespace ffkit {

inline constexpr int64_t kBlockBytes = 2 << 20;

class CacheFile {
 public:
  // The file that is there for the content `key`; null where there is none. Throws Error(io).
  static std::unique_ptr<CacheFile> find(const std::filesystem::path& path, const std::string& key,
                                         int64_t object_bytes);
  // The same; where there is none, or one of another version, makes it. `version` is what the store
  // calls this content. Neither has a line break. Throws Error(io).
  static std::unique_ptr<CacheFile> make(const std::filesystem::path& path, const std::string& key,
                                         const std::string& version, int64_t object_bytes);
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  const std::string& version() const { return version_; }
  int64_t object_bytes() const { return object_bytes_; }
  int64_t num_blocks() const { return static_cast<int64_t>(is_known_.size()); }
  int64_t block_begin(int64_t block) const { return block * kBlockBytes; }
  int64_t block_size(int64_t block) const {
    return std::min(kBlockBytes, object_bytes_ - block_begin(block));
  }
  int descriptor() const { return file_.fd(); }

  // Whether these bytes of the object are there. They stay, for who has the file open.
  bool holds(int64_t offset, int64_t num_bytes) const;
  bool holds_block(int64_t block) const;
  // Compares the blocks of these bytes with their checksums, and forgets those that do not match:
  // they are fetched anew. True: there was one.
  bool drop_damaged(int64_t offset, int64_t num_bytes) const;
  // Reads bytes that are there.
  void read(int64_t offset, std::span<std::byte> out) const { file_.read_at(offset, out); }

  // Claims a block for this process to write; others see that somebody does. The claim ends with
  // release(), or with the process. False: somebody else has it.
  bool claim(int64_t block) const;
  void release(int64_t block) const;
  // Writes a block that was claimed. Throws Error(io), with ENOSPC where the disk is full.
  void write(int64_t block, std::span<const std::byte> bytes) const;

 private:
  struct Entry {
    uint32_t crc32c = 0;
    uint32_t state = 0;
  };

  CacheFile(File file, const std::string& key, int64_t object_bytes);

  bool is_empty() const { return file_.size() == 0; }
  void begin(const std::string& version);
  bool take_over();
  void doubt_blocks() const;
  Entry entry(int64_t block) const;
  void set_entry(int64_t block, Entry entry) const;
  bool matches_checksum(int64_t block, uint32_t crc) const;

  int64_t header_at() const;
  int64_t entry_at(int64_t block) const;

  const std::string key_;
  std::string version_;
  const int64_t object_bytes_;
  File file_;
  mutable std::vector<std::atomic<bool>> is_known_;  // the blocks that are there, as far as known
};

}  // namespace ffkit
