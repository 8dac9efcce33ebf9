// ArrowSamples: writes rows of Arrow's tables with a SampleWriter or a ShardTask, through Arrow's C
// data interface: without Arrow's library, and without an object per row.
//
//   columns of a table ──▶ ArrowSamples: which becomes which field ──▶ writer.write(), a row each
//
//   field            columns
//   string           text, also of 64 bits, as views or behind a dictionary
//   bytes            bytes, also of 64 bits, as views or of a fixed size
//   image            bytes; a struct of `bytes` and `path`, Hugging Face's Image, of which its mode
//                    "L" makes PNGs of one channel
//   number           numbers and bool: whole ones of any width that hold the value, whole ones as
//                    f32 and f64, f32 and f64 as one another
//   tensor           lists of numbers of the same type: regular ones, nested or of a fixed size
//   list             lists of texts, of bytes, of pictures; of tensors lists of lists of numbers
//
// A missing value is a null field; a field without a column is always null. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/sample_writer.h>
#include <ffkit/format/schema.h>
#include <ffkit/sources/arrow_c.h>

namespace ffkit {

class ArrowSamples {
 public:
  // `table`: a struct of all columns, Arrow's form of a table; it may be released afterwards.
  // `fields`: those of the samples. `images`: how pictures are stored. `shapes`: shapes by column,
  // for columns with one tensor per row, such as the storage of Arrow's fixed-shape tensors. Throws
  // Error(unsupported) that names the column, for an unsuitable type, for a column that `fields`
  // lack, and for duplicate names; Error(corrupt) if `table` is not such a struct.
  ArrowSamples(Schema fields, const ArrowSchema& table, const ImageStorage& images = {},
               const std::map<std::string, std::vector<int64_t>>& shapes = {});

  // Throws Error(unsupported) that names the column, for values that write() does not support:
  // nulls in lists or dictionaries, and files (bytes and path) without their bytes. Skips rows if
  // the arrays say that they have no nulls. Arrow's arrays are trusted: wrong offsets are not
  // noticed.
  void check(const ArrowArray& batch) const;

  // SampleWriter::write() or ShardTask::write() of what takes the samples.
  using Write = std::function<int64_t(SampleWriter::SetFields set_fields, int64_t num_bytes)>;
  // Writes all rows of a checked batch, in their order; the thread that encodes the last row
  // releases the batch. Blocks and throws like `write`. A wrong row, such as lists of different
  // lengths or a number that does not fit the field, is an Error(invalid_argument) of a later
  // write().
  void write(ArrowOwner<ArrowArray> batch, const Write& write) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace ffkit
