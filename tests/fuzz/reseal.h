// Gives a damaged shard right checksums again. Without it a fuzzer would never get past the first of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ffkit::fuzzing {

struct Reseal {
  bool records = true;   // the CRCs of the records in the index
  bool pages = true;     // number, use and CRC of the index's pages
  bool catalog = false;  // written anew, with the CRCs of the streams, if it can be read
};

// Header and trailer get their magic numbers, version, lengths and CRCs in any case. Too short files stay as they are.
void reseal_shard(std::vector<std::byte>& shard, const Reseal& what);

// Where the catalog is according to the trailer; size 0 when that is nowhere in the file.
struct CatalogPlace {
  size_t offset = 0;
  size_t size = 0;
};
CatalogPlace find_catalog(const std::vector<std::byte>& shard);

}  // namespace ffkit::fuzzing
