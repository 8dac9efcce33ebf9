// ArrowNode: the type of an Arrow array, as a tree, and single values of such arrays. For tables
// whose values are taken one by one, as they are; arrow_columns.h is for those that become fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/arrow_c.h>

namespace ffkit {

enum class ArrowKind : uint8_t {
  nothing,  // nulls alone
  boolean,
  integer,  // of any width
  real,     // of 32 or 64 bits
  text,
  bytes,
  list,
  structure,
  other,
};

struct ArrowNode {
  std::string name;
  std::string format;  // as Arrow's C interface writes it
  ArrowKind kind = ArrowKind::other;
  std::vector<ArrowNode> children;

  bool operator==(const ArrowNode& other) const {
    return name == other.name && format == other.format && kind == other.kind &&
           children == other.children;
  }
};

// Throws Error(unsupported), without a path, for a type that is nested more than 64 deep.
ArrowNode arrow_node(const ArrowSchema& schema);

// Values of `array`, whose type is `node`. An index is the array's own, from 0.
bool is_arrow_null(const ArrowNode& node, const ArrowArray& array, int64_t index);
bool arrow_boolean(const ArrowArray& array, int64_t index);
// Throws Error(unsupported), without a path, for more than 64 bits with a sign hold.
int64_t arrow_integer(const ArrowNode& node, const ArrowArray& array, int64_t index);
double arrow_real(const ArrowNode& node, const ArrowArray& array, int64_t index);
// Of texts and bytes; lives as long as the array.
std::span<const std::byte> arrow_bytes(const ArrowNode& node, const ArrowArray& array,
                                       int64_t index);

// The items of a list, as indices of its child: array.children[0].
struct ArrowItems {
  int64_t begin = 0;
  int64_t end = 0;
};
ArrowItems arrow_items(const ArrowNode& node, const ArrowArray& array, int64_t index);

}  // namespace ffkit
