#include "convert/sample_values.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <span>
#include <string_view>

#include <ffkit/base/error.h>
#include <ffkit/image/image_codec.h>

#include "convert/table_values.h"

namespace nb = nanobind;

namespace ffkit::python {
namespace {

// A view of an object's memory, given back at the end. With the GIL.
class BufferView {
 public:
  explicit BufferView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
      throw nb::python_error();
    }
  }
  ~BufferView() { PyBuffer_Release(&view_); }
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }
  std::vector<int64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }

 private:
  Py_buffer view_{};
};

Value take_value(nb::handle object, int64_t& num_bytes) {
  Value value;
  if (object.is_none()) return value;
  value.kind = Value::Kind::bytes;
  if (PyUnicode_Check(object.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (text == nullptr) throw nb::python_error();
    const auto bytes = std::as_bytes(std::span(text, static_cast<size_t>(size)));
    value.data.assign(bytes.begin(), bytes.end());
  } else if (PyList_Check(object.ptr())) {
    value.kind = Value::Kind::list;
    for (const nb::handle item : nb::borrow<nb::list>(object)) {
      value.items.push_back(take_value(item, num_bytes));
    }
  } else {
    const bool is_pixels = PyTuple_Check(object.ptr());
    if (is_pixels) value.kind = Value::Kind::pixels;
    const nb::object array = is_pixels ? nb::object(object[1]) : nb::borrow(object);
    const BufferView view(array);
    value.shape = view.shape();
    value.data.assign(view.bytes().begin(), view.bytes().end());
  }
  num_bytes += static_cast<int64_t>(value.data.size() + sizeof(Value));
  return value;
}

std::string_view text_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.data.data()), value.data.size()};
}

uint64_t bits_of(const Value& value) {
  uint64_t bits = 0;
  std::memcpy(&bits, value.data.data(), std::min(value.data.size(), sizeof(bits)));
  return bits;
}

// The bytes of a picture as they go into the record.
std::span<const std::byte> stored_picture(const Value& value, const Sample& sample,
                                          const Field& field, const ImageStorer& storer,
                                          PixelsAs pixels, SampleBuffers& buffers) {
  std::span<const std::byte> image = value.data;
  if (value.kind == Value::Kind::pixels) {
    const auto height = static_cast<int>(value.shape[0]);
    const auto width = static_cast<int>(value.shape[1]);
    const RgbView view{.data = reinterpret_cast<const uint8_t*>(value.data.data()),
                       .width = width,
                       .height = height,
                       .stride = ptrdiff_t{3} * width};
    std::vector<std::byte>& encoded = buffers.array();
    switch (pixels) {
      case PixelsAs::png:
        encoded = encode_png(view);
        break;
      case PixelsAs::jpeg:
        encoded = encode_jpeg(view, storer.storage().jpeg_quality);
        break;
      case PixelsAs::raw:
        encode_ppm(view, encoded);
        break;
    }
    image = encoded;
  }
  try {
    return storer.store(image, sample.id, buffers, field.name).bytes;
  } catch (const Error& error) {
    throw error.with_message(fmt::format("field '{}': {}", field.name, error.message()));
  }
}

}  // namespace

PixelsAs parse_pixels_as(const std::string& name) {
  if (name == "png") return PixelsAs::png;
  if (name == "jpeg") return PixelsAs::jpeg;
  if (name == "raw") return PixelsAs::raw;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("pixels is '{}'; it must be png, jpeg or raw", name));
}

Sample take_sample(const Schema& schema, nb::handle values) {
  Sample sample;
  for (const nb::handle value : nb::borrow<nb::list>(values)) {
    sample.values.push_back(take_value(value, sample.num_bytes));
  }
  const int id = schema.index_of("id");
  if (id >= 0 && schema.fields[id].type == FieldType::string) {
    sample.id = text_of(sample.values.at(id));
  }
  return sample;
}

void set_fields(const Schema& schema, const Sample& sample, const ImageStorer& storer,
                PixelsAs pixels, RecordBuilder& record, SampleBuffers& buffers) {
  const auto picture = [&](const Value& value, const Field& field) {
    return stored_picture(value, sample, field, storer, pixels, buffers);
  };
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const Value& value = sample.values[i];
    if (value.kind == Value::Kind::null) continue;
    switch (field.type) {
      case FieldType::bytes:
        record.set_bytes(i, value.data);
        break;
      case FieldType::string:
        record.set_string(i, text_of(value));
        break;
      case FieldType::scalar:
        record.set_scalar_bits(i, field.dtype, bits_of(value));
        break;
      case FieldType::tensor:
        record.set_tensor(i, {field.dtype, value.shape, value.data});
        break;
      case FieldType::image:
        record.set_bytes(i, picture(value, field));
        break;
      case FieldType::list:
        if (field.item == FieldType::string) {
          std::vector<std::string_view> items;
          for (const Value& item : value.items) items.push_back(text_of(item));
          record.set_list(i, items);
        } else if (field.item == FieldType::tensor) {
          std::vector<TensorView> items;
          for (const Value& item : value.items) {
            items.push_back({field.dtype, item.shape, item.data});
          }
          record.set_list(i, items);
        } else {
          std::vector<std::span<const std::byte>> items;
          for (const Value& item : value.items) {
            items.push_back(field.item == FieldType::image ? picture(item, field) : item.data);
          }
          record.set_list(i, items);
        }
        break;
    }
  }
}

Schema schema_of(nb::handle fields) {
  Schema schema;
  for (const nb::handle field : nb::borrow<nb::list>(fields)) {
    const auto text = [&field](int i) { return nb::cast<std::string>(field[i]); };
    schema.fields.push_back({.name = text(0),
                             .type = parse_field_type(text(1)),
                             .dtype = parse_dtype(text(2)),
                             .column = nb::cast<bool>(field[3]),
                             .item = parse_field_type(text(4))});
  }
  validate(schema);
  return schema;
}

ImageStorage storage_of(nb::dict given) {
  ImageStorage storage;
  OptionTable table;
  describe(storage, PictureUse::all, true, table);
  give(table, std::move(given));
  validate(storage, table);
  return storage;
}

}  // namespace ffkit::python
