// StreamReader: checked access to one index stream of an open shard. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "file.h"
#include "shard_layout.h"

namespace ffkit {

class StreamReader {
 public:
  // `file` must outlive the reader. `number` is the stream's position in the catalog.
  StreamReader(const File& file, StreamInfo info, uint32_t number);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const StreamInfo& info() const { return info_; }
  // The payload byte at `position`, from a page that is read and checked on first use and kept. The
  // elements of a stream do not cross pages (FORMAT.md). Valid as long as the reader. Throws
  // Error(corrupt) or Error(io).
  const std::byte* at(int64_t position) const;
  // The whole payload; checks every page and the checksum over all of them.
  std::vector<std::byte> read_all() const;

 private:
  std::span<const std::byte, kPageBytes> load(int64_t page_number) const;

  const File& file_;
  StreamInfo info_;
  uint32_t number_;
  // One pointer a page, null until it is needed. calloc: pages of pointers that are never touched
  // cost no memory.
  std::unique_ptr<std::byte*[], void (*)(void*)> pages_;
};

}  // namespace ffkit
