// Samples on their way from Python to records: taken from Python's objects with the GIL, set on
// records without it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/base/option_table.h>
#include <ffkit/converter/image_storage.h>
#include <ffkit/converter/source.h>
#include <ffkit/converter/summary.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace ffkit::python {

// How pixels that come without an encoding are stored.
enum class PixelsAs : uint8_t { png, jpeg, raw };
// Inverse of "png", "jpeg" and "raw"; throws Error(invalid_argument).
PixelsAs parse_pixels_as(const std::string& name);

// One field's value: a copy, so that the caller may change its arrays at once.
struct Value {
  enum class Kind : uint8_t { null, bytes, pixels, numbers, list };
  Kind kind = Kind::null;
  std::vector<int64_t>
      shape;  // of tensors; of pixels [height, width, 3]; of numbers [height, width]
  std::vector<std::byte> data;
  std::vector<Value> items;
};

// A sample's values in the order of the schema's fields, as ffkit/_samples.py prepares them.
struct Sample {
  std::vector<Value> values;
  std::string id;      // for ImageStorer's draw
  ContentSum content;  // of the record whose files these are; {0, 0}: they tell it
  int64_t num_bytes = 0;
};

// Takes the values out of a Python list: None; bytes or str; a C-contiguous array for a number or a
// tensor; ("pixels", array u8 [height, width, 3]); ("numbers", a PNG that has them, or an array u8
// or u16 [height, width]); a list of these. With the GIL.
Sample take_sample(const Schema& schema, nanobind::handle values);

// Sets the fields of a record; pictures pass through `storer`. `sample` must live until the record
// is encoded. Without the GIL.
void set_fields(const Schema& schema, const Sample& sample, const ImageStorer& storer,
                PixelsAs pixels, RecordBuilder& record, SampleBuffers& buffers);

// From a list of tuples (name, type, dtype, column, item), all but `column` texts.
Schema schema_of(nanobind::handle fields);
// From a dict of the options of pictures that are given. Throws as give() and validate().
ImageStorage storage_of(nanobind::dict given);

// A Source written in Python (ffkit.convert.Source).

// `source` is a Python object with the members that ffkit/convert.py's _PreparedSource has. It is
// called from the conversion's threads, each time with the GIL; what it raises becomes an Error of
// the sample, and the first such exception is kept for raised_by(). The object must be made and
// destroyed with the GIL.
// `pixels`: how pictures that come as pixels are stored, as parse_pixels_as() takes it.
std::unique_ptr<Source> open_python_source(nanobind::object source, const ImageStorage& images,
                                           const std::string& pixels);

// The exception that `source` has raised for the sample that ended the conversion with `error`, or
// None. With the GIL.
nanobind::object raised_by(const Source& source, const Error& error);

// Tables of options (ffkit/base/option_table.h) between Python and C++. With the GIL.

// Gives the options of a dict to the table; keys are Option::key(). Throws TypeError for a name
// that the table does not have and for a value of another type, and as Option::give().
void give(OptionTable& table, nanobind::dict given);

// A list of dicts, one an option, with "name", "group", "help", "type", "choices", "range",
// "default" (None where nothing is given) and "default_text".
nanobind::list to_python(const OptionTable& table);

// What a conversion has written, or would write, as Python's dicts: ffkit/convert.py makes data
// classes of them.
nanobind::dict to_python(const SplitSummary& split);
nanobind::dict to_python(const ConvertSummary& summary);
nanobind::dict to_python(const ConvertEstimate& estimate);

}  // namespace ffkit::python
