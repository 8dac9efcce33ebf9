// Permutation: a pseudo-random permutation of 0 .. n-1 in O(1) memory.
//
// A generalised Feistel network (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002,
// method 3). i is written as left * b + right with left < a and right < b, a = ceil(sqrt(n)) and
// b = ceil(n / a). Each round adds a keyed function of one half to the other, modulo its size.
// Values outside the range are permuted again. They are rare, because a * b exceeds n by less than
// a; so the cost is the same for any n. The same (n, key) gives the same permutation on every
// machine and in every release.
#pragma once

#include <cstdint>

namespace ffkit {

class Permutation {
 public:
  // `n` >= 1; throws Error(invalid_argument) otherwise.
  Permutation(int64_t n, uint64_t key);

  [[nodiscard]] int64_t size() const noexcept { return n_; }
  // Image of `i`, 0 <= i < n.
  [[nodiscard]] int64_t operator()(int64_t i) const;

 private:
  static constexpr int kMaxRounds = 12;

  int64_t n_;
  uint64_t left_size_;   // a
  uint64_t right_size_;  // b
  int num_rounds_;
  uint64_t round_keys_[kMaxRounds];
};

}  // namespace ffkit
