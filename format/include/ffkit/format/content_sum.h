// Identifies the original files of a record, independent of its name and form: a sum of the bytes
// of its sample's files. Records with equal sums come from the same files. converter/identity makes
// and compares them; a shard stores those that cannot be computed from its records (FORMAT.md,
// "Contents").
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ffkit/base/crc32c.h>

namespace ffkit {

class ShardReader;

struct FileSum {
  uint64_t num_bytes = 0;
  uint32_t crc32c = 0;

  bool operator==(const FileSum&) const = default;
};

inline FileSum file_sum(std::span<const std::byte> file) {
  return {.num_bytes = file.size(), .crc32c = crc32c(file)};
}

struct ContentSum {
  uint64_t num_bytes = 0;  // of all files
  uint64_t hash = 0;       // of their lengths and CRC-32Cs, in order

  auto operator<=>(const ContentSum&) const = default;
};

// The stored sum of each record; {0, 0} if it can be computed from the record. Empty: all can.
// Throws like ShardReader.
std::vector<ContentSum> kept_contents(const ShardReader& shard);

}  // namespace ffkit
