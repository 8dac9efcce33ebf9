#include <fmt/format.h>

#include <bit>

#include <ffkit/format/error.h>
#include <ffkit/loader/permutation.h>

#include "mix64.h"

namespace ffkit {

Permutation::Permutation(int64_t n, uint64_t key) : n_(n) {
  if (n < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a permutation needs at least one element, got {}", n));
  }
  const int bits = std::bit_width(static_cast<uint64_t>(n - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  uint64_t state = key;
  for (uint64_t& round_key : round_keys_) round_key = state = mix64(state);
}

int64_t Permutation::operator()(int64_t i) const {
  auto value = static_cast<uint64_t>(i);
  do {
    uint64_t left = value >> half_bits_;
    uint64_t right = value & half_mask_;
    for (uint64_t round_key : round_keys_) {
      const uint64_t next = left ^ (mix64(right ^ round_key) & half_mask_);
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >= static_cast<uint64_t>(n_));
  return static_cast<int64_t>(value);
}

}  // namespace ffkit
