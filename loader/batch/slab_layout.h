// SlabLayout: where the arrays of a batch lie in its slab.
//
//   | field 0: [batch_size, shape...] | pad to 4096 | field 1: ... | pad |
//
// Texts (TextDecoder) lie elsewhere, in SlabTexts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/image/image_output.h>
#include <ffkit/loader/field_decoder.h>

namespace ffkit {

inline constexpr size_t kSlabAlignment = 4096;  // of each array in memory

struct SlabField {
  std::string name;
  DType dtype = DType::u8;
  std::vector<int64_t> shape;  // of a sample; of ragged rows that of a row
  size_t offset = 0;           // of the array in the slab
  size_t bytes_per_sample = 0;
  int64_t num_parts = 1;  // in which it is decoded
  // The decoder, where it is of this kind.
  const PartsDecoder* parts = nullptr;
  const RowsDecoder* rows = nullptr;
  const RowPartsDecoder* row_parts = nullptr;
  const TextDecoder* texts = nullptr;
  bool has_rows = false;  // rows or texts
  size_t bytes_per_row = 0;
  bool is_ragged = false;
};

struct SlabLayout {
  std::vector<SlabField> fields;
  int image = -1;          // index in `fields` of what Batch::images() gives, -1: nothing
  int label = -1;          // likewise of Batch::labels()
  size_t num_visible = 0;  // fields that have a number of their own in the batch; they come first
  // Names of the views. Behind the visible fields come the size of the picture, then the geometry
  // of each view.
  std::vector<std::string> views;
  Layout image_layout = Layout::nchw;
  size_t num_bytes = 0;
};

// Throws Error(invalid_argument) for no field, names that are empty or not unique, arrays too large
// to be, and decoders of no part.
SlabLayout make_slab_layout(const std::vector<BatchField>& fields, int64_t batch_size);

}  // namespace ffkit
