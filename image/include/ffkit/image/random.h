// CounterRandom: random numbers that depend only on (seed, epoch, record_index, stream). They are
// the same on every machine, for any number of threads and ranks, and in every release. All
// augmentations use it, also those of users.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Key: the
// seed, low word first. Counter words: stream * 2^24 + the number of the block drawn so far, the
// epoch (low 32 bits), record_index low, record_index high. A block gives two 64-bit numbers, each
// of two words, low word first.
#pragma once

#include <array>
#include <cstdint>

namespace ffkit {

// The values that determine the random numbers of a sample.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t record_index = 0;

  bool operator==(const SampleKey&) const = default;
};

// One block of Philox4x32 with ten rounds.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A value: cheap to make and to copy. Not thread-safe.
class CounterRandom {
 public:
  // Streams give independent numbers for the same sample, 2^25 each. Each consumer uses its own
  // stream, so that it does not change the numbers of others. The loader's transforms use 0 .. 127.
  explicit CounterRandom(const SampleKey& key, uint8_t stream = 0);

  uint64_t next();
  // Uniform in [0, 1): 53 bits of next().
  double uniform();
  // Uniform in [low, high); low if both are equal.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform in 0 .. n-1, n >= 1: the high half of next() * n. The bias is below n / 2^64.
  int64_t below(int64_t n);

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_ = {};
  bool has_second_half_ = false;
};

}  // namespace ffkit
