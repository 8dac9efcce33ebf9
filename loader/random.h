// CounterRandom: random numbers that depend on (seed, epoch, record_index) alone, the same on every machine and in every release.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Key: the seed, low word first. Counter
// words: the number of the block drawn from this key so far, the epoch (low 32 bits), record_index low, record_index high. A block
// gives two 64-bit numbers, each of two words, low word first.
#pragma once

#include <array>
#include <cstdint>

namespace ffkit {

// One block of Philox4x32 with ten rounds.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class CounterRandom {
 public:
  CounterRandom(uint64_t seed, int64_t epoch, int64_t record_index);

  uint64_t next();
  // Uniform in [0, 1): 53 bits of next().
  double uniform();
  // Uniform in [low, high), low when both are equal.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform in 0 .. n-1, n >= 1: the high half of next() * n; the bias is below n / 2^64.
  int64_t below(int64_t n);

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_ = {};
  bool has_second_half_ = false;
};

}  // namespace ffkit
