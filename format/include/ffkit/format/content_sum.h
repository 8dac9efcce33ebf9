// What a record is made from, whatever its name and the form in which the set has it: a sum of the
// bytes of its sample's files. Two records of equal sums are of the same files. converter/identity
// makes and compares them; a shard keeps those that its records do not tell (FORMAT.md,
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

// Of each record, what the shard keeps; {0, 0} for one that tells it by itself. Empty: so do all.
// Throws as ShardReader does.
std::vector<ContentSum> kept_contents(const ShardReader& shard);

}  // namespace ffkit
