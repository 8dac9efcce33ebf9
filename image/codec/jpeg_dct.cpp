#include "codec/jpeg_dct.h"

#include <algorithm>

#include "jpeg/libjpeg_internal.h"

namespace ffkit {

bool JpegDct::attach(jpeg_decompress_struct& info, int first_column, int last_column,
                     const DctFile& file) {
  failed_ = false;
#ifdef FFKIT_JPEG_HUFFMAN
  if (!is_one_plain_scan(info) ||
      static_cast<size_t>(info.num_components) != file.num_components() ||
      size_t{info.MCU_rows_in_scan} != file.num_rows()) {
    return false;
  }
  DctGeometry geometry;
  geometry.mcus_per_row = info.MCUs_per_row;
  geometry.num_rows = info.MCU_rows_in_scan;
  dc_alone_ = true;
  for (int c = 0; c < info.comps_in_scan; ++c) {
    const jpeg_component_info& component = *info.cur_comp_info[c];
    geometry.add_component(static_cast<size_t>(component.MCU_blocks));
    dc_alone_ = dc_alone_ && scaled_block_size(component) == 1;
  }
  row_.begin(geometry, file.codes());
  file_ = &file;
  num_blocks_ = geometry.blocks_in_mcu;
  num_columns_ = geometry.mcus_per_row;
  first_column_ = static_cast<size_t>(first_column);
  last_column_ = std::min(static_cast<size_t>(last_column), num_columns_ - 1);
  next_row_ = 0;
  column_ = 0;
  info.client_data = this;
  info.entropy->decode_mcu = decode_mcu;
  return true;
#else
  static_cast<void>(info);
  static_cast<void>(first_column);
  static_cast<void>(last_column);
  static_cast<void>(file);
  return false;
#endif
}

boolean JpegDct::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto& self = *static_cast<JpegDct*>(info->client_data);
  const size_t column = self.column_;
  if (++self.column_ == self.num_columns_) {
    self.column_ = 0;
    ++self.next_row_;
  }
  // Rows that are skipped come without blocks.
  const bool is_wanted = blocks != nullptr && column >= self.first_column_ &&
                         column <= self.last_column_ && !self.failed_;
  if (is_wanted && !self.read_mcu(*blocks[0], column))
    self.failed_ = true;  // grey until the caller asks
  return TRUE;
}

// libjpeg keeps the blocks of an MCU one behind the other, and fills them with 0 at once
// (jdcoefct.c).
bool JpegDct::read_mcu(JCOEF* blocks, size_t column) {
  if (column == first_column_) {
    const size_t row = column_ == 0 ? next_row_ - 1 : next_row_;
    if (row >= file_->num_rows() || !row_.open(file_->row(row), dc_alone_)) return false;
    if (dc_alone_) {
      row_.skip_dc(first_column_);
    } else if (!row_.skip_mcus(first_column_)) {
      return false;
    }
  }
  if (dc_alone_) {
    row_.read_dc(blocks);
    return true;
  }
  if (!row_.read_mcu(blocks)) return false;
  return column + 1 < num_columns_ || row_.is_at_end();
}

}  // namespace ffkit
