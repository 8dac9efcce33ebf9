// Chunks of LitData that are Arrow tables: the types of such tables, and the values in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/arrow_c.h>

#include "archives/tar_index.h"
#include "files/file_window.h"
#include "litdata/litdata_format.h"
#include "rows/row_table.h"

namespace ffkit {

// ArrowNode: the type of an Arrow array, as a tree, and single values of such arrays. For tables
// whose values are taken one by one, as they are; arrow_columns.h is for those that become fields.

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

// Chunks of LitData whose samples are rows of an Arrow table (append_arrow_row_footer() in
// litdata/streaming/item_loader.py), all numbers little-endian:
//
//   u32 n │ u32 offsets[n + 1] │ samples, if any │ IPC file or stream │ u32 length │ "LDARW01\0"
//
// Each table has a type of its own, for pyarrow infers it from the samples of one chunk: what is
// None in all of them has no type, and a dictionary's keys are those that one of them has.

// Where the table at the end of a chunk of `num_bytes` lies; nothing: it has none. Throws
// Error(corrupt), without a path, for a length that cannot be.
std::optional<FileRange> find_arrow_table(int64_t num_bytes, const ReadBytes& read);

// A value of each row of a table.
struct TableLeaf {
  std::string name;                 // as leaf_names() calls it
  std::vector<size_t> steps;        // from the struct of all columns, to a member each
  const ArrowNode* node = nullptr;  // of the table's type
};

// The values of a table of type `root`: those called by `leaves`, whatever they hold, and of others
// what dictionaries hold. Throws Error(unsupported), without a path, for two of one name.
std::vector<TableLeaf> table_leaves(const ArrowNode& root, const std::vector<std::string>& leaves);

// What the values of one name are in all tables; `nodes`: their types in each.
struct TableFormat {
  std::string format;   // as an index names it: "int"; empty: there is no value, or a refusal
  std::string refusal;  // "has texts in some chunks, and whole numbers in others"
};
TableFormat table_format(const std::vector<const ArrowNode*>& nodes);

// Sets `value` to what `leaf` has in row `row` of a batch, as `format` has it: a number, text,
// bytes, or JSON of up to `max_bytes`. Throws Error(unsupported), without a path, for what the
// format does not hold.
void read_table_leaf(const LitDataFormat& format, const TableLeaf& leaf, const ArrowArray& batch,
                     int64_t row, int64_t max_bytes, RowValue& value, SampleBuffers& buffers);

}  // namespace ffkit
