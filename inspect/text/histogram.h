// Histograms as text bars.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ffkit {

struct Bin {
  int64_t begin = 0;  // values v with begin <= v < end
  int64_t end = 0;
  int64_t count = 0;
};

// Between one and about a dozen bins with round limits over non-negative `values`: of even width
// where these are close together, else of even ratio. Empty for no values.
std::vector<Bin> make_bins(std::span<const int64_t> values);

// A bar for `count` where the largest is `largest`: "#####", at least "#" unless the count is 0.
std::string bar(int64_t count, int64_t largest, int width = 40);

}  // namespace ffkit
