// The fields of a record as text and as JSON and as files, for every field type.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/record.h>

#include "text/output.h"

namespace ffkit {

// "image image", "label scalar i64, column".
std::string describe_field(const Field& field);
Json field_description_json(const Field& field);

// One line: the number, the escaped text, "jpeg 500 x 375, 107854 bytes", "f32 [3, 4]", "2 items",
// "null". `values` adds the numbers of small tensors and the items of short lists. Throws
// Error(corrupt) when the field's bytes are not of its type.
std::string field_text(const Schema& schema, const RecordView& record, size_t field,
                       bool values = false);

// null, the number, the text, or an object with "num_bytes" (bytes), "num_bytes", "encoding",
// "width", "height" (image; the last two are null when its header cannot be read), "dtype", "shape"
// (tensor), or an array of these (list). `detail` adds more.
enum class Detail {
  sizes,
  values,   // tensors get "values", their numbers, row-major
  content,  // and pictures and bytes get "base64", pictures that of image_file()
};
Json field_json(const Schema& schema, const RecordView& record, size_t field, Detail detail);

// The file that an encoded picture stands for: the picture itself, and of the dct code the JPEG,
// which is then made in `jpeg`. Throws Error(corrupt) or Error(unsupported) for a dct code that is
// broken or of another version.
std::span<const std::byte> image_file(std::span<const std::byte> image,
                                      std::vector<std::byte>& jpeg);

// The field's content as files have it: encoded pictures and opaque bytes as they are, text, a
// number as text, tensors as .npy, every item of a list in a file of its own.
struct FieldFile {
  // of the file's name behind the field's: ".jpg", ".npy", "/0.txt" for the first item of a list
  std::string suffix;
  std::span<const std::byte> data;  // of the record, or of `owned`
  std::string owned;
  bool is_image = false;  // the file is image_file() of the data
};
std::vector<FieldFile> field_files(const Schema& schema, const RecordView& record, size_t field);
// ".jpg" (also of the dct code), ".png", or ".bin" for what is neither.
std::string image_extension(std::span<const std::byte> image);

// Appends the bytes of numbers as other libraries take them: bf16, which they lack, as float32,
// which loses nothing.
void append_numbers(DType dtype, std::span<const std::byte> data, std::string& out);
// The tensor as the content of a .npy file (numpy.lib.format, version 1.0). Numbers as
// append_numbers().
std::string npy_file(const TensorView& tensor);

// The items of a list of strings as a JSON array. Throws Error(unsupported) for an item that is no
// UTF-8 text, which JSON cannot hold.
std::string json_array_of(const Field& field, const ListView& list);

}  // namespace ffkit
