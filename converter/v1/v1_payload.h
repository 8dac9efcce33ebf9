// V1Payloads: makes v1 records of a data set's records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/v1.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>
#include <ffkit/image/dct_picture.h>

namespace ffkit {

// Not thread-safe: make() keeps its memory from record to record.
class V1Payloads {
 public:
  // `content` is not automatic; `field` as in V1Options. Throws Error(invalid_argument) or
  // Error(not_found) when the schema lacks what is needed.
  V1Payloads(const Schema& schema, V1Content content, const std::string& field);

  // Whether V1Content::imagenet fits the schema.
  static bool fits_imagenet(const Schema& schema, const std::string& field);
  // Fields that the v1 records lack.
  std::vector<std::string> left_out() const;

  struct Payload {
    std::span<const std::byte> bytes;  // into the record, or into this object until the next make()
    int64_t label = 0;                 // imagenet only
  };
  // A picture in the dct code becomes the JPEG that it was made from. Throws
  // Error(invalid_argument) when a field is null, and as decode_dct_to_jpeg() does.
  Payload make(const RecordView& record);

 private:
  const Schema schema_;
  const V1Content content_;
  size_t data_ = 0;   // positions in the schema
  size_t label_ = 0;  // imagenet only
  std::vector<std::byte> buffer_;
  std::vector<std::byte> jpeg_;
  DctTranscoder transcoder_;
};

}  // namespace ffkit
