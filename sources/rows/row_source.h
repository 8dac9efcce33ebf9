// RowSource: the Source over a RowTable: which column becomes which field.
//
//   the picture   field `image`, first       --image-column, or the only column of pictures
//   the label     field `label`, scalar i64  --label-column, or the one that has classes or is
//                                            called so; --label-offset is added
//   the id        field `id`, last           --id-column, or a column `id` or `__key__`, or the
//                                            row's place
//   others        as they are, under their own names
//
// What was guessed is said in notes().
#pragma once

#include <memory>

#include <ffkit/sources/row_sources.h>

#include "converter/input/kind_options.h"
#include "rows/row_table.h"

namespace ffkit {

// Throws Error(invalid_argument) for a column that is not there or cannot be what the options say,
// and for two columns that would be one field; Error(not_found) for a table without rows.
std::unique_ptr<Source> make_row_source(std::unique_ptr<RowTable> table, const RowOptions& options);

}  // namespace ffkit
