// MATLAB level 5 files, as far as tables of numbers and texts go: MathWorks, "MAT-File Format",
// chapter 1.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ffkit {

// A number, a text in UTF-8, or something else (arrays, tables).
using MatCell = std::variant<std::monostate, double, std::string>;

// A struct array: one row an element, one column a field.
struct MatTable {
  std::vector<std::string> columns;
  std::vector<MatCell> cells;  // row by row

  size_t num_rows() const { return columns.empty() ? 0 : cells.size() / columns.size(); }
};

// The struct array `name` of the file `bytes`. Throws Error(corrupt) naming `origin` when it is no
// such file, is cut short or damaged, or has no such table, and Error(unsupported) when it expands
// to more than 16 MiB.
MatTable read_mat_table(std::span<const std::byte> bytes, const std::string& name,
                        const std::string& origin);

}  // namespace ffkit
