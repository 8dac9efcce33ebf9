#include "batch/slab_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/base/error.h>

#include "fields/decoder_base.h"

namespace ffkit {
namespace {

constexpr size_t kMaxSlabBytes = size_t{1} << 46;

[[noreturn]] void refuse_layout(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

size_t bytes_per_sample(const SlabField& field, int64_t batch_size) {
  size_t num_bytes = size_of(field.dtype);
  for (const int64_t extent : field.shape) {
    if (extent < 0 || static_cast<size_t>(extent) > kMaxSlabBytes / num_bytes) {
      refuse_layout(fmt::format("the batch's field '{}' has an extent of {}, which cannot be",
                                field.name, extent));
    }
    num_bytes *= std::max<size_t>(static_cast<size_t>(extent), 1);
  }
  if (num_bytes > kMaxSlabBytes / static_cast<size_t>(batch_size)) {
    refuse_layout(fmt::format("the batch's field '{}' takes {} bytes a sample, which is too much",
                              field.name, num_bytes));
  }
  const bool is_empty = std::find(field.shape.begin(), field.shape.end(), 0) != field.shape.end();
  return is_empty ? 0 : num_bytes;
}

// Of a field whose decoder makes rows, but for its bytes: its shape becomes that of a sample.
void add_rows(SlabField& field, int64_t max_rows, int64_t copies) {
  field.has_rows = true;
  field.max_rows = max_rows;
  field.num_lists = std::max<int64_t>(copies, 1);
  field.bytes_per_row = bytes_per_sample(field, 1);
  field.shape.insert(field.shape.begin(), max_rows);
  if (copies > 0) field.shape.insert(field.shape.begin(), copies);
}

}  // namespace

SlabLayout make_slab_layout(const std::vector<BatchField>& fields, int64_t batch_size) {
  if (fields.empty()) {
    refuse_layout("a batch needs at least one field: image_field, label_field or one of `fields`");
  }
  SlabLayout layout;
  for (const BatchField& field : fields) {
    if (field.name.empty()) refuse_layout("a field of the batch has no name");
    if (field.decoder == nullptr) {
      refuse_layout(fmt::format("the batch's field '{}' has no decoder", field.name));
    }
    for (const SlabField& earlier : layout.fields) {
      if (earlier.name == field.name) {
        refuse_layout(
            fmt::format("the batch has two fields '{}'; give one another name", field.name));
      }
    }
    SlabField& added = layout.fields.emplace_back();
    added.name = field.name;
    added.dtype = field.decoder->dtype();
    added.shape = field.decoder->shape();
    added.offset = layout.num_bytes;
    added.rows = dynamic_cast<const RowsDecoder*>(field.decoder.get());
    added.row_parts = dynamic_cast<const RowPartsDecoder*>(field.decoder.get());
    added.parts = dynamic_cast<const PartsDecoder*>(field.decoder.get());
    added.lists = dynamic_cast<const RowListsDecoder*>(field.decoder.get());
    added.texts = dynamic_cast<const TextDecoder*>(field.decoder.get());
    if (added.parts != nullptr) added.num_parts = added.parts->num_parts();
    if (added.row_parts != nullptr) added.num_parts = added.row_parts->num_parts();
    RowLayout rows = RowLayout::padded;
    if (added.rows != nullptr) {
      rows = added.rows->layout();
      add_rows(added, added.rows->max_rows(), 0);
    } else if (added.lists != nullptr) {
      rows = added.lists->layout();
      add_rows(added, added.lists->max_rows(), added.lists->copies());
    }
    added.bytes_per_sample = added.texts != nullptr ? 0 : bytes_per_sample(added, batch_size);
    if (added.num_parts < (added.bytes_per_sample == 0 ? 0 : 1)) {
      refuse_layout(
          fmt::format("the batch's field '{}' is decoded in {} parts; nobody would write it",
                      field.name, added.num_parts));
    }
    added.bytes_per_list = added.bytes_per_sample / static_cast<size_t>(added.num_lists);
    if (rows == RowLayout::ragged) {
      added.is_ragged = true;
      added.shape = field.decoder->shape();
    }
    if (added.texts != nullptr) {
      added.has_rows = true;
      added.is_ragged = true;
      added.bytes_per_row = 1;
    }
    const size_t num_bytes = added.bytes_per_sample * static_cast<size_t>(batch_size);
    layout.num_bytes += (num_bytes + kSlabAlignment - 1) / kSlabAlignment * kSlabAlignment;
  }
  layout.num_bytes = std::max(layout.num_bytes, kSlabAlignment);
  layout.num_visible = layout.fields.size();
  return layout;
}

}  // namespace ffkit
