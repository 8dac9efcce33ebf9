// Chunks of LitData whose samples are rows of an Arrow table (append_arrow_row_footer() in
// litdata/streaming/item_loader.py), all numbers little-endian:
//
//   u32 n │ u32 offsets[n + 1] │ samples, if any │ IPC file or stream │ u32 length │ "LDARW01\0"
//
// Each table has a type of its own, for pyarrow infers it from the samples of one chunk: what is
// None in all of them has no type, and a dictionary's keys are those that one of them has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archives/tar_index.h"
#include "arrow/arrow_node.h"
#include "litdata/litdata_format.h"
#include "rows/read_bytes.h"
#include "rows/row_table.h"

namespace ffkit {

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
