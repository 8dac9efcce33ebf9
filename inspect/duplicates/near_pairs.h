// All pairs of 64-bit hashes within a Hamming distance, by multi-index hashing (Norouzi, Punjani,
// Fleet, "Fast Exact Search in Hamming Space with Multi-Index Hashing", 2014).
//
// The bits are dealt to m parts. Of two hashes that differ in up to d = m r + a bits, some part
// of the first a + 1 differs in up to r bits, or some of the others in up to r - 1: else there were
// more than d. So each part is an index, in which every hash looks up its own value with up to r
// bits turned. Exact. Of n hashes that are spread well, it takes about n lookups for each of these
// values; where all hashes have the same few parts, at worst n^2 comparisons.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

namespace ffkit {

// Calls found(i, j), i < j, at least once for each pair of `hashes` that differ in 0 .. `distance`
// (0 .. 63) bits; one call at a time, from any thread. Works on all threads of the arena, and takes
// 12 bytes of memory a hash and up to 64 MiB. Ends early when `stop` is set. For up to 2^32 - 1
// hashes; give each value once, since equal ones are compared with one another.
void find_near_pairs(std::span<const uint64_t> hashes, int distance,
                     const std::function<void(uint32_t, uint32_t)>& found,
                     const std::atomic<bool>& stop);

}  // namespace ffkit
