#include "convert/sample_values.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <ffkit/image/image_codec.h>
#include <ffkit/image/mask.h>

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
    const bool has_kind = PyTuple_Check(object.ptr());
    if (has_kind) {
      const bool is_pixels = nb::cast<std::string>(object[0]) == "pixels";
      value.kind = is_pixels ? Value::Kind::pixels : Value::Kind::numbers;
    }
    const nb::object array = has_kind ? nb::object(object[1]) : nb::borrow(object);
    const BufferView view(array);
    value.shape = view.shape();
    value.data.assign(view.bytes().begin(), view.bytes().end());
  }
  num_bytes += static_cast<int64_t>(value.data.size() + sizeof(Value));
  return value;
}

// What ffkit.Dataset says that the files were made from, if they are all those of one record.
ContentSum content_of(const Schema& schema, nb::handle values) {
  const auto is_file = [](FieldType type) {
    return type == FieldType::image || type == FieldType::bytes;
  };
  nb::list files;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const nb::object value = values[i];
    if (value.is_none()) continue;
    if (is_file(field.type)) files.append(value);
    if (field.type == FieldType::list && is_file(field.item)) files.extend(value);
  }
  ContentSum content;
  for (const nb::handle file : files) {
    const nb::object made_from = nb::getattr(file, "made_from", nb::none());
    if (made_from.is_none() || nb::cast<size_t>(made_from[1]) != files.size()) return {};
    ContentSum one;
    std::memcpy(&one, nb::borrow<nb::bytes>(made_from[0]).data(), sizeof(one));
    if (content != ContentSum() && one != content) return {};
    content = one;
  }
  return content;
}

std::string_view text_of(const Value& value) {
  return {reinterpret_cast<const char*>(value.data.data()), value.data.size()};
}

uint64_t bits_of(const Value& value) {
  uint64_t bits = 0;
  std::memcpy(&bits, value.data.data(), std::min(value.data.size(), sizeof(bits)));
  return bits;
}

// Numbers, such as ids of classes, stay as they are: nothing resizes them or makes JPEGs of them.
std::span<const std::byte> stored_numbers(const Value& value, const Field& field,
                                          const ImageStorage& storage, SampleBuffers& buffers) {
  const bool is_changed = storage.max_resolution > 0 || storage.short_side > 0 || storage.fix_odd ||
                          storage.store == StoreAs::raw || storage.store == StoreAs::smart;
  if (is_changed) {
    buffers.report({"is a picture of one channel or with a palette, whose pixels may be numbers",
                    "kept as it is", field.name});
  }
  if (value.shape.size() != 2) return value.data;
  const auto height = static_cast<int>(value.shape[0]);
  const auto width = static_cast<int>(value.shape[1]);
  const bool is_wide =
      value.data.size() > static_cast<size_t>(value.shape[0]) * static_cast<size_t>(value.shape[1]);
  return buffers.array() = encode_mask_png({.data = value.data.data(),
                                            .dtype = is_wide ? DType::u16 : DType::u8,
                                            .width = width,
                                            .height = height,
                                            .stride = width});
}

// The bytes of a picture as they go into the record.
std::span<const std::byte> stored_picture(const Value& value, const Sample& sample,
                                          const Field& field, const ImageStorer& storer,
                                          PixelsAs pixels, SampleBuffers& buffers) {
  std::span<const std::byte> image = value.data;
  if (value.kind == Value::Kind::numbers) {
    return stored_numbers(value, field, storer.storage(), buffers);
  }
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
  sample.content = content_of(schema, values);
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
  if (sample.content != ContentSum()) buffers.set_content(sample.content);
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
                             .type = from_name<FieldType>(text(1)),
                             .dtype = from_name<DType>(text(2)),
                             .column = nb::cast<bool>(field[3]),
                             .item = from_name<FieldType>(text(4))});
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

namespace {

class PythonSource final : public Source {
 public:
  PythonSource(nb::object source, const ImageStorage& images, const std::string& pixels)
      : source_(std::move(source)),
        storer_(images),
        pixels_(parse_pixels_as(pixels)),
        schema_(schema_of(source_.attr("fields"))),
        classes_(nb::cast<std::vector<std::string>>(source_.attr("classes"))),
        class_names_(nb::cast<std::vector<std::string>>(source_.attr("class_names"))),
        facts_(nb::cast<std::map<std::string, std::string>>(source_.attr("facts"))) {
    for (const nb::handle split : nb::list(source_.attr("splits"))) {
      splits_.push_back({.name = nb::cast<std::string>(split[0]),
                         .num_samples = nb::cast<int64_t>(split[1]),
                         .is_training = nb::cast<bool>(split[2])});
    }
  }

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return schema_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::map<std::string, std::string> facts(size_t /*split*/) const override { return facts_; }
  std::map<std::string, std::string> options() const override {
    return manifest_options(storer_.storage());
  }

  std::string describe(size_t split, int64_t index) const override {
    return fmt::format("{}[{}]", splits_.at(split).name, index);
  }

  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    // Its memory must last until the record is encoded, which is before the buffers are cleared.
    thread_local Sample sample;
    {
      const nb::gil_scoped_acquire acquire;
      try {
        sample = take_sample(schema_, source_.attr("read")(splits_.at(split).name, index));
      } catch (nb::python_error& raised) {
        throw_error(raised, describe(split, index));
      }
    }
    set_fields(schema_, sample, storer_, pixels_, record, buffers);
  }

  nb::object raised(const Error& error) const {
    const auto found = raised_.find(error.context().path);
    return found == raised_.end() ? nb::none() : found->second;
  }

 private:
  [[noreturn]] void throw_error(nb::python_error& raised, const std::string& place) const {
    const nb::object exception = nb::borrow(raised.value());
    // The first ones are enough: a conversion that skips bad samples may meet millions.
    if (raised_.size() < kMostKept) raised_.emplace(place, exception);
    const std::string type = nb::cast<std::string>(raised.type().attr("__name__"));
    const bool ends_all = !raised.matches(PyExc_Exception);  // KeyboardInterrupt, SystemExit
    throw Error(
        ends_all ? ErrorCode::cancelled : ErrorCode::corrupt,
        fmt::format("the source raised {}: {}", type, nb::cast<std::string>(nb::str(exception))),
        {.path = place});
  }

  static constexpr size_t kMostKept = 64;

  const nb::object source_;
  const ImageStorer storer_;
  const PixelsAs pixels_;
  const Schema schema_;
  const std::vector<std::string> classes_;
  const std::vector<std::string> class_names_;
  const std::map<std::string, std::string> facts_;
  std::vector<SourceSplit> splits_;
  mutable std::map<std::string, nb::object> raised_;  // by describe(); with the GIL
};

}  // namespace

std::unique_ptr<Source> open_python_source(nb::object source, const ImageStorage& images,
                                           const std::string& pixels) {
  return std::make_unique<PythonSource>(std::move(source), images, pixels);
}

nb::object raised_by(const Source& source, const Error& error) {
  const auto* python_source = dynamic_cast<const PythonSource*>(&source);
  return python_source == nullptr ? nb::none() : python_source->raised(error);
}

}  // namespace ffkit::python
