// The assignment of least cost: each row gets a column of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ffkit {

// `cost`: rows x columns, in rows, rows <= columns. Returns the column of each row; the sum of cost
// over these is as small as it can be. Where several assignments have that sum, which of them comes
// out depends on the order of the columns alone. Shortest augmenting paths (Crouse, "On
// Implementing 2D Rectangular Assignment Algorithms", 2016), rows^2 * columns steps. Throws
// Error(invalid_argument) when a cost is not finite, or there are more rows than columns.
std::vector<int64_t> least_cost_assignment(std::span<const double> cost, int64_t rows,
                                           int64_t columns);

}  // namespace ffkit
