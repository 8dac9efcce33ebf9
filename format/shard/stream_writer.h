// StreamWriter: collects an index stream in memory and writes its pages (FORMAT.md, "Index
// streams").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shard/shard_layout.h"
#include "storage/writer/file_sink.h"

namespace ffkit {

class StreamWriter {
 public:
  explicit StreamWriter(std::string name) : name_(std::move(name)) {}

  void append(std::span<const std::byte> bytes);
  int64_t num_bytes() const { return std::ssize(payload_); }
  // Writes the pages at the file's end, which is at `offset`, and returns where they are.
  StreamInfo write(FileSink& file, int64_t offset, uint32_t stream_number) const;

 private:
  std::string name_;
  std::vector<std::byte> payload_;
};

}  // namespace ffkit
