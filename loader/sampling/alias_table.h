// AliasTable: draws 0 .. n-1 with given probabilities in O(1): the alias method (Walker 1977) with
// Vose's construction ("A linear algorithm for generating random numbers with a given
// distribution", 1991). Immutable, so thread-safe.
//
// Each of n equally probable columns holds its own number and one other, its alias; a coin of the
// column chooses between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ffkit {

class AliasTable {
 public:
  // Throws Error(invalid_argument) for weights that are negative, not finite or all 0, and for none
  // or more than 2^32 of them.
  explicit AliasTable(std::span<const double> weights);

  int64_t size() const { return std::ssize(columns_); }
  // The number that `column`, 0 .. n-1, and the toss `coin` stand for.
  int64_t draw(int64_t column, uint32_t coin) const {
    const Column& at = columns_[column];
    return coin < at.threshold ? column : int64_t{at.alias};
  }

 private:
  struct Column {
    uint32_t threshold = 0;  // share of the column's own number, times 2^32
    uint32_t alias = 0;      // its own number where the share is 1
  };
  std::vector<Column> columns_;
};

}  // namespace ffkit
