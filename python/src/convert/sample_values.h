// Samples on their way from Python to records: taken from Python's objects with the GIL, set on
// records without it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace ffkit::python {

// How pixels that come without an encoding are stored.
enum class PixelsAs : uint8_t { png, jpeg, raw };
// Inverse of "png", "jpeg" and "raw"; throws Error(invalid_argument).
PixelsAs parse_pixels_as(const std::string& name);

// One field's value: a copy, so that the caller may change its arrays at once.
struct Value {
  enum class Kind : uint8_t { null, bytes, pixels, list };
  Kind kind = Kind::null;
  std::vector<int64_t> shape;  // of tensors; of pixels [height, width, 3]
  std::vector<std::byte> data;
  std::vector<Value> items;
};

// A sample's values in the order of the schema's fields, as ffkit/_samples.py prepares them.
struct Sample {
  std::vector<Value> values;
  std::string id;  // for ImageStorer's draw
  int64_t num_bytes = 0;
};

// Takes the values out of a Python list: None; bytes or str; a C-contiguous array for a number or a
// tensor; ("pixels", array u8 [height, width, 3]); a list of these. With the GIL.
Sample take_sample(const Schema& schema, nanobind::handle values);

// Sets the fields of a record; pictures pass through `storer`. `sample` must live until the record
// is encoded. Without the GIL.
void set_fields(const Schema& schema, const Sample& sample, const ImageStorer& storer,
                PixelsAs pixels, RecordBuilder& record, SampleBuffers& buffers);

// From a list of tuples (name, type, dtype, column, item), all but `column` texts.
Schema schema_of(nanobind::handle fields);
// From a dict of the options of pictures that are given. Throws as give() and validate().
ImageStorage storage_of(nanobind::dict given);

}  // namespace ffkit::python
