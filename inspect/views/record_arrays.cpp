#include "views/record_arrays.h"

#include <algorithm>

#include "loader/fields/decoder_base.h"

namespace ffkit {

RecordArrays::RecordArrays(const BatchFields& fields)
    : fields_(fields), arrays_(fields.fields.size()) {
  scratch_.reserve(fields.fields.size());
  for (const BatchField& field : fields.fields) scratch_.push_back(field.decoder->make_scratch());
  share_views(scratch_);
}

void RecordArrays::decode(const RecordView& record, const SampleKey& key) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const FieldDecoder& decoder = *fields_.fields[i].decoder;
    FieldDecoder::Scratch* const scratch = scratch_[i].get();
    if (scratch != nullptr) scratch->record_index = key.record_index;
    RecordArray& array = arrays_[i];
    const size_t bytes = array_bytes(decoder.dtype(), decoder.shape());
    const auto* rows = dynamic_cast<const RowListsDecoder*>(&decoder);
    if (rows == nullptr) {
      array.bytes.resize(bytes);
      decoder.decode(record, key, scratch, array.bytes.data());
      continue;
    }
    array.max_rows = rows->max_rows();
    array.num_rows.resize(static_cast<size_t>(rows->num_lists()));
    const size_t list_bytes = bytes * static_cast<size_t>(array.max_rows);
    array.bytes.resize(list_bytes * array.num_rows.size());
    for (size_t list = 0; list < array.num_rows.size(); ++list) {
      array.num_rows[list] = rows->decode_list(record, key, static_cast<int64_t>(list), scratch,
                                               array.bytes.data() + list * list_bytes);
    }
  }
}

const RecordArray& RecordArrays::of(std::string_view name) const {
  const auto found = std::ranges::find(fields_.fields, name, &BatchField::name);
  return arrays_[static_cast<size_t>(found - fields_.fields.begin())];
}

const RecordArray& RecordArrays::geometry(size_t view) const {
  return arrays_[fields_.num_visible + 1 + view];
}

const RecordArray* RecordArrays::unpadded_sizes(size_t view) const {
  const auto found = std::ranges::find(fields_.padded, view, &PaddedView::view);
  return found == fields_.padded.end() ? nullptr : &arrays_[found->sizes];
}

}  // namespace ffkit
