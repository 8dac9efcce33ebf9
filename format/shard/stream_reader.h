// StreamReader: checked access to one index stream of an open shard. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shard/shard_layout.h"
#include "storage/reader/random_reader.h"

namespace ffkit {

class StreamReader {
 public:
  // `file` must outlive the reader. `number` is the stream's position in the catalog. Keeps up to
  // `cache_bytes` of pages.
  StreamReader(const RandomReader& file, StreamInfo info, uint32_t number,
               int64_t cache_bytes = kPageBytes);
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const StreamInfo& info() const { return info_; }
  // Copies the element at `position` of the payload, which must not cross a page: those of entries
  // and columns do not (FORMAT.md). Throws Error(corrupt) or Error(io).
  void read(int64_t position, std::span<std::byte> element) const;
  // Tells the kernel that read() will want the page of `position`, unless that was read or asked
  // for before: then the page cache has it. A hint that does not wait.
  void will_read(int64_t position) const;
  // The whole payload; checks every page and the checksum over all of them.
  std::vector<std::byte> read_all() const;

 private:
  using Page = std::array<std::byte, kPageBytes>;
  struct Slot {
    int64_t page_number = -1;
    std::unique_ptr<Page> page;
  };
  void load(int64_t page_number, Page& page) const;

  const RandomReader& file_;
  StreamInfo info_;
  uint32_t number_;
  // Page p is kept in slot p modulo their number, if at all: pages that lie together do not
  // displace each other.
  mutable std::vector<Slot> slots_;
  static constexpr size_t kNumMutexes = 16;
  mutable std::array<std::mutex, kNumMutexes> mutexes_;  // of slot modulo their number
  // A bit a page, modulo kMaxBits: whether it was read or asked for. To ask takes a system call,
  // which is a tenth of what a small record costs.
  static constexpr int64_t kMaxBits = 1 << 20;
  bool set_is_known(int64_t page_number) const;
  mutable std::vector<std::atomic<uint64_t>> is_known_;
};

}  // namespace ffkit
