// Permutation: a pseudo-random permutation of 0 .. n-1 in O(1) memory.
//
// A balanced Feistel network over the smallest even number of bits that holds n-1, with cycle walking: values outside the range are
// encrypted again until they fall into it, at most 4 rounds of the network on average (Black and Rogaway, "Ciphers with
// Arbitrary Finite Domains", 2002). The same (n, key) gives the same permutation on every machine and in every release.
#pragma once

#include <cstdint>

namespace ffkit {

class Permutation {
 public:
  // `n` >= 1; throws Error(invalid_argument) otherwise.
  Permutation(int64_t n, uint64_t key);

  int64_t size() const { return n_; }
  // Image of `i`, 0 <= i < n.
  int64_t operator()(int64_t i) const;

 private:
  int64_t n_;
  int half_bits_;
  uint64_t half_mask_;
  static constexpr int kRounds = 6;
  uint64_t round_keys_[kRounds];
};

}  // namespace ffkit
