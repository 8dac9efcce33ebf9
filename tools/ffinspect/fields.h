// The fields of a record as text and as JSON, for every field type.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ffkit/format/record.h>

#include "output.h"

namespace ffkit {

// "image image", "label scalar i64, column".
std::string describe_field(const Field& field);
Json field_description_json(const Field& field);

// One line: the number, the escaped text, "jpeg 500 x 375, 107854 bytes", "f32 [3, 4]", "null". `values` adds the numbers of small
// tensors. Throws Error(corrupt) when the field's bytes are not of its type.
std::string field_text(const Schema& schema, const RecordView& record, size_t field,
                       bool values = false);

// null, the number, the text, or an object with "num_bytes" (bytes), "num_bytes", "encoding", "width", "height" (image; the last
// two are null when its header cannot be read), "dtype", "shape" (tensor). `values` adds a tensor's numbers, row-major, as "values".
Json field_json(const Schema& schema, const RecordView& record, size_t field, bool values = false);

// The field's content as a file has it: encoded images and opaque bytes as they are, text, a number as text, tensors as .npy.
struct FieldFile {
  std::string extension;            // ".jpg", ".npy", ...
  std::span<const std::byte> data;  // of the record, or of `owned`
  std::string owned;
};
FieldFile field_file(const Schema& schema, const RecordView& record, size_t field);
// ".jpg", ".png", or ".bin" for what is neither.
std::string image_extension(std::span<const std::byte> image);

std::string base64(std::span<const std::byte> data);

}  // namespace ffkit
