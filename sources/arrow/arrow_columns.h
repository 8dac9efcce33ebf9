// ArrowColumns: the columns of Arrow's arrays as columns of rows, and the values of one row.
//
//   numbers, bool            scalar                       list of them      tensor [n]
//   text, bytes              string, bytes                list of them      list
//   list of lists of numbers tensor where all rows are regular, else a list of tensors
//   struct                   its members, "objects/bbox"; in a list, each member is a list
//   struct<bytes, path>      Hugging Face's Image: a picture, and its path
//   fixed_shape_tensor       tensor of its shape
//
// Names of classes are those of Hugging Face's ClassLabel, in the schema's metadata. Types that are
// none of these are left out, with a note.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/sources/arrow_c.h>

#include "rows/row_table.h"

namespace ffkit {

enum class ArrowLeaf : uint8_t { number, boolean, text, bytes, nothing };

// From an array to an array below it.
struct ArrowStep {
  size_t child = 0;  // of a struct; 0 of a list
  bool is_list = false;
  bool has_wide_offsets = false;  // of a list: 64 bits
  int64_t fixed_size = 0;         // of a list whose lengths are all the same

  bool operator==(const ArrowStep&) const = default;
};

// Where the values of a column are in a file's arrays. Files may differ in that where their columns
// are of the same type.
struct ArrowPlace {
  ArrowLeaf leaf = ArrowLeaf::number;
  std::vector<ArrowStep> steps;   // from the struct of all columns
  int depth = 0;                  // lists among the steps
  bool has_wide_offsets = false;  // of texts and bytes
  bool is_view = false;           // texts and bytes in pieces
  int64_t fixed_size = 0;         // of bytes
  std::string index_format;       // of texts behind a dictionary; else empty

  bool operator==(const ArrowPlace&) const = default;
};

struct ArrowColumn {
  RowColumn column;
  ArrowPlace place;
  bool may_be_picture = false;  // bytes, or a list of them one by one, whose kind nothing tells
  bool is_of_file = false;      // the bytes of a struct<bytes, path>
  std::vector<int64_t> empty_shape =
      {};  // of a tensor without items: [0, 4] where others are [n, 4]
  std::vector<int64_t> fixed_shape = {};  // of Arrow's fixed_shape_tensor; else empty
  // What Arrow calls the values: "int64", "timestamp[ms]". Numbers of two types may be one dtype.
  std::string type = {};
  // Whether rows are looked at for regular lists of lists.
  bool is_nested() const { return place.depth >= 2; }
};

// A column that no field can hold.
struct ArrowLeftOut {
  std::string name;
  std::string what;       // "decimal numbers"
  bool is_null = false;   // of type null: whatever other files have there, this one has nothing
  ArrowPlace place = {};  // of lists of it, which may be empty; others have no depth
  bool operator==(const ArrowLeftOut&) const = default;
};

struct ArrowColumns {
  std::vector<ArrowColumn> columns;
  std::vector<ArrowLeftOut> left_out;
};

// Of the struct of all columns. Lists of lists of numbers are lists of tensors at first. Throws
// Error(corrupt), without a path, for a schema that is none.
ArrowColumns arrow_columns(const ArrowSchema& schema);

enum class ArrowBytes : uint8_t {
  copied,    // to the buffers of the call
  in_place,  // texts and bytes are those of the batch, which must outlive them; numbers are copied
};

// Sets `value` to what stands in row `row` of `batch`, of a file where the column is at `place`. A
// list of numbers of 8 bits that is a picture is its bytes. Items of a list that are null, or have
// a null in them, are left out. A list of fixed size means nothing without one of them, so with a
// null in it the value is null. Throws Error(invalid_argument), without a path, for lists that are
// not regular where all should be.
void read_arrow_value(const ArrowColumn& column, const ArrowPlace& place, const ArrowArray& batch,
                      int64_t row, RowValue& value, SampleBuffers& buffers,
                      ArrowBytes bytes = ArrowBytes::copied);

// Sets the value of each column of a row. Items that one column leaves out are left out of the
// columns beside it in their struct too, so that boxes and labels stay together; `buffers` count
// them. Where a column's place is null, its value is. Errors name the column.
void read_arrow_row(std::span<const ArrowColumn> columns, std::span<const ArrowPlace* const> places,
                    const ArrowArray& batch, int64_t row, std::span<RowValue> values,
                    SampleBuffers& buffers);

// Whether a list of the row has a null in it.
bool has_null_inside(const ArrowPlace& place, const ArrowArray& batch, int64_t row);

// The shape of a row's lists of lists; nothing where they are not regular; {} for a null. The
// column is_nested(). Throws as read_arrow_value().
std::optional<std::vector<int64_t>> nested_shape(const ArrowPlace& place, const ArrowArray& batch,
                                                 int64_t row);

}  // namespace ffkit
