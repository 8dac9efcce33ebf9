// What a fuzzer has to know of a shard: which of its bytes mean something, and how to give a
// damaged one right checksums again. Without the latter it would never get past the first of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ffkit::fuzzing {

struct Reseal {
  bool records = true;   // the CRCs of the records in the index
  bool fields = true;    // the CRCs of the fields of records with codec 0
  bool pages = true;     // number, use and CRC of the index's pages
  bool catalog = false;  // written anew, with the CRCs of the streams, if it can be read
};

// Header and trailer get their magic numbers, version, lengths and CRCs in any case. Too short
// files stay as they are.
void reseal_shard(std::vector<std::byte>& shard, const Reseal& what);

// Some bytes of a file.
struct Place {
  size_t offset = 0;
  size_t size = 0;
};

// Where the catalog is according to the trailer; size 0 when that is nowhere in the file.
Place find_catalog(const std::vector<std::byte>& shard);

// The stored records and the pages' payloads, as far as they lie within the file: most of a small
// shard is padding.
std::vector<Place> find_parts(const std::vector<std::byte>& shard);

// fuzz_shard takes a filter (ffkit/format/filter.h) from the reserved bytes of the header, up to
// the first 0.
inline constexpr Place kFilterPlace = {40, 256};

}  // namespace ffkit::fuzzing
