#include "batch/slab_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include <ffkit/format/error.h>

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
    added.texts = dynamic_cast<const TextDecoder*>(field.decoder.get());
    added.has_rows = added.rows != nullptr || added.texts != nullptr;
    if (added.parts != nullptr) added.num_parts = added.parts->num_parts();
    if (added.row_parts != nullptr) added.num_parts = added.row_parts->num_parts();
    if (added.rows != nullptr) {
      added.bytes_per_row = bytes_per_sample(added, 1);
      added.shape.insert(added.shape.begin(), added.rows->max_rows());
    }
    added.bytes_per_sample = added.texts != nullptr ? 0 : bytes_per_sample(added, batch_size);
    if (added.num_parts < (added.bytes_per_sample == 0 ? 0 : 1)) {
      refuse_layout(
          fmt::format("the batch's field '{}' is decoded in {} parts; nobody would write it",
                      field.name, added.num_parts));
    }
    if (added.rows != nullptr && added.rows->layout() == RowLayout::ragged) {
      added.is_ragged = true;
      added.shape.erase(added.shape.begin());
    }
    if (added.texts != nullptr) {
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
