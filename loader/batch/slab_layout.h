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
#include <ffkit/image/rgb_image.h>
#include <ffkit/loader/field_decoder.h>

namespace ffkit {

class RowListsDecoder;

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
  const RowListsDecoder* lists = nullptr;
  const TextDecoder* texts = nullptr;
  bool has_rows = false;  // rows or texts
  int64_t num_lists = 1;  // of rows, of each sample
  int64_t max_rows = 0;   // of each list
  size_t bytes_per_row = 0;
  size_t bytes_per_list = 0;
  bool is_ragged = false;
};

// Arrays of a view that ends with PadToLargest: they are cut to the largest picture of a batch.
struct PaddedView {
  size_t view = 0;   // in SlabLayout::views
  size_t sizes = 0;  // the field of its pictures' heights and widths, i64 [.., 2]
  ImageSize canvas = 0;
  int64_t multiple = 1;
  struct Array {
    size_t field;
    size_t height_axis;  // in the shape of a sample, or of a ragged row; the width is the next one
  };
  std::vector<Array> arrays;
};

struct SlabLayout {
  std::vector<SlabField> fields;
  int image = -1;          // index in `fields` of what Batch::images() gives, -1: nothing
  int label = -1;          // likewise of Batch::labels()
  size_t num_visible = 0;  // fields that have a number of their own in the batch; they come first
  // Names of the views. Behind the visible fields come the size of the picture, the geometry of
  // each view, and the sizes of the pictures of padded views.
  std::vector<std::string> views;
  std::vector<PaddedView> padded;
  Layout image_layout = Layout::nchw;
  size_t num_bytes = 0;
};

// Throws Error(invalid_argument) for no field, names that are empty or not unique, arrays too large
// to be, and decoders of no part.
SlabLayout make_slab_layout(const std::vector<BatchField>& fields, int64_t batch_size);

}  // namespace ffkit
