// ArrowSamples: the rows of Arrow's tables as samples of a SampleWriter or a ShardTask, by Arrow's
// C data interface: no library of Arrow, and no object a row.
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
// A row without a value has a null field, and so has every row in a field without a column.
// Thread-safe.
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
  // `table`: a struct of all columns, as Arrow hands tables over; it may be released afterwards.
  // `fields`: of the samples. `images`: how pictures are stored. `shapes`: of columns by name whose
  // rows are the elements of one tensor each, such as the storage of Arrow's fixed-shape tensors.
  // Throws Error(unsupported) naming the column for a type that the field does not take, for a
  // column that `fields` lack, and for two of one name; Error(corrupt) for what is no such struct.
  ArrowSamples(Schema fields, const ArrowSchema& table, const ImageStorage& images = {},
               const std::map<std::string, std::vector<int64_t>>& shapes = {});

  // Throws Error(unsupported) naming the column for values that write() does not take: nulls inside
  // of lists or in a dictionary, and files (bytes and path) without their bytes. Looks at no row
  // where the arrays say that they have no nulls. Arrow's arrays are trusted: an offset beyond its
  // buffer is not noticed.
  void check(const ArrowArray& batch) const;

  // SampleWriter::write() or ShardTask::write() of what takes the samples.
  using Write = std::function<int64_t(SampleWriter::SetFields set_fields, int64_t num_bytes)>;
  // Hands over all rows of a checked batch, in their order; it is released when the last one has
  // been encoded, by the thread that does it. Blocks and throws as `write` does. A row that is no
  // sample, such as lists of different lengths or a number that the field does not hold, is an
  // Error(invalid_argument) of a later write().
  void write(ArrowOwner<ArrowArray> batch, const Write& write) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace ffkit
