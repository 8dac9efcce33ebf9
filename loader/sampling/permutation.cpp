#include <cmath>

#include <ffkit/loader/permutation.h>

#include "base/make_error.h"
#include "base/mix64.h"

namespace ffkit {
namespace {

// floor(fraction * size) for the fraction x / 2^64.
uint64_t scale(uint64_t x, uint64_t size) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(x) * size) >> 64);
}

// A number below `size`, below 2^32, from `x` and the key of a round: the top bits of two
// multiplications with the constants of splitmix64, half of mix64's work.
uint64_t round_function(uint64_t x, uint64_t key, uint64_t size) {
  uint64_t mixed = (x + key) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 32)) * 0x94D049BB133111EBU;
  return scale(mixed, size);
}

// a + b modulo `size`, both below it.
uint64_t add(uint64_t a, uint64_t b, uint64_t size) {
  const uint64_t sum = a + b;
  return sum >= size ? sum - size : sum;
}

// Small halves mix less a round: with six of them, five elements would have some orders 1.3 times
// as often as others.
constexpr int64_t kSmallSize = 1 << 16;
constexpr int kRounds = 6;
constexpr int kSmallRounds = 12;

uint64_t ceil_sqrt(uint64_t n) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));
  // The double is off by rounding alone; n < 2^63, so the squares do not overflow.
  while (root * root < n) ++root;
  while (root > 1 && (root - 1) * (root - 1) >= n) --root;
  return root;
}

}  // namespace

Permutation::Permutation(int64_t n, uint64_t key) : n_(n) {
  if (n < 1) {
    throw error_of(
        ErrorCode::invalid_argument,
        "a permutation needs at least one element, but the given number of elements is {}", n);
  }
  const auto size = static_cast<uint64_t>(n);
  left_size_ = ceil_sqrt(size);
  right_size_ = (size + left_size_ - 1) / left_size_;
  num_rounds_ = n < kSmallSize ? kSmallRounds : kRounds;
  uint64_t state = key;
  for (uint64_t& round_key : round_keys_) round_key = state = mix64(state);
}

int64_t Permutation::operator()(int64_t i) const {
  auto value = static_cast<uint64_t>(i);
  do {
    uint64_t left = value / right_size_;
    uint64_t right = value % right_size_;
    for (int round = 0; round < num_rounds_; round += 2) {
      left = add(left, round_function(right, round_keys_[round], left_size_), left_size_);
      right = add(right, round_function(left, round_keys_[round + 1], right_size_), right_size_);
    }
    value = left * right_size_ + right;
  } while (value >= static_cast<uint64_t>(n_));
  return static_cast<int64_t>(value);
}

}  // namespace ffkit
