// The check of a record's pictures, beyond the checksums: that each one decodes, and that each one
// in the dct code gives its JPEG again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

namespace ffkit {

// Not thread-safe: one per thread.
class PictureCheck {
 public:
  // What is wrong with pictures of a record that is whole, one sentence a picture that names its
  // field; empty when nothing is. Throws what ShardReader::read() throws.
  std::vector<std::string> check(const ShardReader& shard, int64_t record);

  int64_t num_pictures() const { return num_pictures_; }
  int64_t num_dct_pictures() const { return num_dct_pictures_; }

 private:
  void check_picture(std::span<const std::byte> image);

  RecordUnpacker unpacker_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> jpeg_;
  ImageDecoder decoder_;
  ImageDecoder jpeg_decoder_;
  DctTranscoder transcoder_;
  int64_t num_pictures_ = 0;
  int64_t num_dct_pictures_ = 0;
};

}  // namespace ffkit
