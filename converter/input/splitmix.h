// SplitMix: the generator behind the shuffle and the demo pictures, specified in README.md so that
// the same seed gives the same data set in every release. Not for cryptography. Not thread-safe.
#pragma once

#include <cstdint>

namespace ffkit {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  // Uniform over 0 .. bound-1, bound >= 1, without bias (Lemire, "Fast random integer generation in
  // an interval", 2019).
  uint64_t below(uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold) {
        product = static_cast<Wide>(next()) * bound;
      }
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform over [low, high), in steps of 2^-53 of the range.
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

 private:
  uint64_t state_;
};

}  // namespace ffkit
