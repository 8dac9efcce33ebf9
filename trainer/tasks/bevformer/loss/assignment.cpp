#include "tasks/bevformer/loss/assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class Assignment {
 public:
  Assignment(std::span<const double> cost, int64_t rows, int64_t columns)
      : cost_(cost),
        columns_(columns),
        row_price_(rows),
        column_price_(columns_),
        column_of_(rows, -1),
        row_of_(columns_, -1),
        path_(columns_) {}

  // Gives `row` a column. Rows that had one may get another.
  void add(size_t row) {
    std::vector<double> distance(columns_, kInfinite);
    std::vector<char> is_done(columns_);
    std::vector<size_t> rows_seen;
    double lowest = 0;
    size_t at = row;
    size_t end = columns_;
    while (end == columns_) {
      rows_seen.push_back(at);
      size_t nearest = columns_;
      double nearest_distance = kInfinite;
      for (size_t j = 0; j < columns_; ++j) {
        if (is_done[j] != 0) continue;
        const double there = lowest + cost_[at * columns_ + j] - row_price_[at] - column_price_[j];
        if (there < distance[j]) {
          distance[j] = there;
          path_[j] = at;
        }
        // Of equally near ones, a free column ends the search.
        if (distance[j] < nearest_distance ||
            (distance[j] == nearest_distance && row_of_[j] < 0 && row_of_[nearest] >= 0)) {
          nearest = j;
          nearest_distance = distance[j];
        }
      }
      lowest = nearest_distance;
      is_done[nearest] = 1;
      if (row_of_[nearest] < 0) {
        end = nearest;
      } else {
        at = static_cast<size_t>(row_of_[nearest]);
      }
    }
    update_prices(row, rows_seen, distance, is_done, lowest);
    // Backwards along the path, each row gives its column to the next one.
    for (size_t j = end;;) {
      const size_t owner = path_[j];
      row_of_[j] = static_cast<int64_t>(owner);
      const int64_t former = column_of_[owner];
      column_of_[owner] = static_cast<int64_t>(j);
      if (owner == row) return;
      j = static_cast<size_t>(former);
    }
  }

  std::vector<int64_t> columns() && { return std::move(column_of_); }

 private:
  void update_prices(size_t row, const std::vector<size_t>& rows_seen,
                     const std::vector<double>& distance, const std::vector<char>& is_done,
                     double lowest) {
    for (const size_t i : rows_seen) {
      row_price_[i] += i == row ? lowest : lowest - distance[column_of_[i]];
    }
    for (size_t j = 0; j < columns_; ++j) {
      if (is_done[j] != 0) column_price_[j] -= lowest - distance[j];
    }
  }

  std::span<const double> cost_;
  size_t columns_;
  std::vector<double> row_price_, column_price_;
  std::vector<int64_t> column_of_, row_of_;  // -1: none
  std::vector<size_t> path_;                 // the row by which a column was reached
};

}  // namespace

std::vector<int64_t> least_cost_assignment(std::span<const double> cost, int64_t rows,
                                           int64_t columns) {
  if (rows > columns) {
    throw error_of(ErrorCode::invalid_argument, "{} rows cannot each have one of {} columns", rows,
                   columns);
  }
  if (!std::all_of(cost.begin(), cost.end(), [](double c) { return std::isfinite(c); })) {
    throw Error(ErrorCode::invalid_argument, "a cost of the assignment is not finite");
  }
  Assignment assignment(cost, rows, columns);
  for (int64_t i = 0; i < rows; ++i) assignment.add(static_cast<size_t>(i));
  return std::move(assignment).columns();
}

}  // namespace ffkit
