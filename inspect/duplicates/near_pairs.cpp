#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "duplicates/hash_file.h"

namespace ffkit {
namespace {

constexpr int kBits = 64;
constexpr int kMaxIndexBits = 22;
constexpr size_t kHashesAtOnce = 1024;

// std::popcount() is a call where the compiler may not use the instruction, as for any x86-64.
int num_bits(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
  return static_cast<int>(x * 0x0101010101010101 >> 56);
}

// Which bits make a part: every m-th, since neighbours depend on one another in pictures.
class Part {
 public:
  Part(int number, int num_parts) {
    for (int bit = number; bit < kBits; bit += num_parts) bits_[size_++] = bit;
  }
  int size() const { return size_; }
  uint32_t value_of(uint64_t hash) const {
    uint32_t value = 0;
    for (int i = 0; i < size_; ++i) value |= static_cast<uint32_t>(hash >> bits_[i] & 1) << i;
    return value;
  }

 private:
  std::array<int, kBits> bits_{};
  int size_ = 0;
};

// The radius of a part among `num_parts`; -1: it need not be looked at.
int radius_of(int part, int num_parts, int distance) {
  return distance / num_parts - (part <= distance % num_parts ? 0 : 1);
}

// How many values differ from one of `size` bits in at most `radius` of them.
double num_values(int size, int radius) {
  double sum = 0;
  double choices = 1;
  for (int k = 0; k <= radius; ++k) {
    sum += choices;
    choices = choices * (size - k) / (k + 1);
  }
  return sum;
}

// The number of parts with the least work, where hashes are spread well: a lookup misses the
// cache, which takes as long as some ten comparisons.
int best_num_parts(double num_hashes, int distance) {
  constexpr int kFewestParts = (kBits + kMaxIndexBits - 1) / kMaxIndexBits;
  int best = kFewestParts;
  double least = std::numeric_limits<double>::max();
  for (int parts = kFewestParts; parts <= std::max(kFewestParts, distance + 1); ++parts) {
    double work = 0;
    for (int i = 0; i < parts; ++i) {
      const int radius = radius_of(i, parts, distance);
      if (radius < 0) continue;
      const int size = Part(i, parts).size();
      const double num_buckets = std::exp2(size);
      work += num_buckets + num_hashes * num_values(size, radius) * (10 + num_hashes / num_buckets);
    }
    if (work < least) {
      best = parts;
      least = work;
    }
  }
  return best;
}

// The hashes by their value of one part.
class PartIndex {
 public:
  PartIndex(std::span<const uint64_t> hashes, const Part& part) {
    begins_.resize((size_t{1} << part.size()) + 1);
    numbers_.resize(hashes.size());
    sorted_.resize(hashes.size());
    for (const uint64_t hash : hashes) ++begins_[part.value_of(hash) + 1];
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (size_t i = 0; i < hashes.size(); ++i) {
      const uint32_t at = next[part.value_of(hashes[i])]++;
      numbers_[at] = static_cast<uint32_t>(i);
      sorted_[at] = hashes[i];
    }
  }

  // Calls found(number) for each hash of this value that is near to `hash`.
  template <typename Found>
  void look_up(uint32_t value, uint64_t hash, int distance, const Found& found) const {
    for (uint32_t i = begins_[value]; i < begins_[value + 1]; ++i) {
      if (num_bits(sorted_[i] ^ hash) <= distance) found(numbers_[i]);
    }
  }

 private:
  std::vector<uint32_t> begins_;
  std::vector<uint32_t> numbers_;
  std::vector<uint64_t> sorted_;
};

// Calls look(value) for all values of `size` bits that differ from `value` in up to `radius`.
template <typename Look>
void for_each_value(uint32_t value, int size, int radius, int first_bit, const Look& look) {
  look(value);
  if (radius == 0) return;
  for (int bit = first_bit; bit < size; ++bit) {
    for_each_value(value ^ (1U << bit), size, radius - 1, bit + 1, look);
  }
}

}  // namespace

void find_near_pairs(std::span<const uint64_t> hashes, int distance,
                     const std::function<void(uint32_t, uint32_t)>& found,
                     const std::atomic<bool>& stop) {
  const int num_parts = best_num_parts(static_cast<double>(hashes.size()), distance);
  std::mutex mutex;  // of found()
  for (int k = 0; k < num_parts && !stop; ++k) {
    const int radius = radius_of(k, num_parts, distance);
    if (radius < 0) continue;
    const Part part(k, num_parts);
    const PartIndex index(hashes, part);
    const tbb::blocked_range<size_t> all(0, hashes.size(), kHashesAtOnce);
    tbb::parallel_for(all, [&](const tbb::blocked_range<size_t>& range) {
      std::vector<std::pair<uint32_t, uint32_t>> pairs;
      const auto flush = [&] {
        const std::scoped_lock lock(mutex);
        for (const auto& [i, j] : pairs) found(i, j);
        pairs.clear();
      };
      for (size_t i = range.begin(); i < range.end() && !stop; ++i) {
        const uint64_t hash = hashes[i];
        for_each_value(part.value_of(hash), part.size(), radius, 0, [&](uint32_t value) {
          index.look_up(value, hash, distance, [&](uint32_t j) {
            if (i >= j) return;
            pairs.emplace_back(static_cast<uint32_t>(i), j);
            if (pairs.size() == kHashesAtOnce) flush();
          });
        });
      }
      flush();
    });
  }
}

}  // namespace ffkit
