#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "record/record_layout.h"

namespace ffkit {
namespace {

constexpr uint32_t kMaxDimensions = 32;

// Whether product(shape) * size_of(dtype) == num_bytes, without overflow.
bool shape_fits(std::span<const int64_t> shape, DType dtype, size_t num_bytes) {
  auto total = static_cast<int64_t>(size_of(dtype));
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return false;
    if (size == 0) is_empty = true;
    // An empty tensor may claim any other sizes, as long as their product can be told.
    if (__builtin_mul_overflow(total, size == 0 ? 1 : size, &total)) return false;
  }
  return num_bytes == (is_empty ? 0 : static_cast<size_t>(total));
}

[[noreturn]] void throw_corrupt_field(const Field& field, size_t num_bytes,
                                      const std::string& wanted, const RecordName& name) {
  throw Error(ErrorCode::corrupt,
              fmt::format("field '{}' has {} bytes, but these bytes are not {}", field.name,
                          num_bytes, wanted),
              context_of(name));
}

TensorView require_tensor(const Field& field, std::span<const std::byte> bytes,
                          const RecordName& name) {
  const auto tensor = parse_tensor(field.dtype, bytes);
  if (!tensor) {
    throw_corrupt_field(field, bytes.size(), fmt::format("a tensor of {}", to_string(field.dtype)),
                        name);
  }
  return *tensor;
}

void require_item_type(const Field& field, FieldType a, FieldType b) {
  if (field.item != a && field.item != b) {
    throw error_of(ErrorCode::invalid_argument, "field '{}' is a list of {}, not of {}", field.name,
                   to_string(field.item), to_string(a));
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ErrorContext context_of(const RecordName& name) {
  return {.path = name.file != nullptr ? name.file->string() : "",
          .record = name.record,
          .subject = ErrorSubject::sample};
}

FieldPlace place_of_field(std::span<const std::byte> table, size_t num_fields, size_t i) {
  const auto end = load_le<uint64_t>(table.data() + 8 * i);
  const uint64_t previous =
      i == 0 ? table_bytes(num_fields) : load_le<uint64_t>(table.data() + 8 * (i - 1)) & ~kNullBit;
  return {.begin = align8(previous),
          .end = end & ~kNullBit,
          .is_null = (end & kNullBit) != 0,
          .crc32c = load_le<uint32_t>(table.data() + 8 * num_fields + 4 * i)};
}

uint32_t field_crc(const FieldPlace& place, std::span<const std::byte> bytes) {
  const uint64_t end = place.end | (place.is_null ? kNullBit : 0);
  return crc32c(bytes, crc32c(std::as_bytes(std::span(&end, 1))));
}

RecordView::RecordView(const Schema& schema, std::span<const std::byte> record, RecordName name,
                       const FieldMapping* mapping, const std::vector<bool>* readable)
    : schema_(schema), record_(record), name_(name), mapping_(mapping), readable_(readable) {
  const size_t num_fields = stored().fields.size();
  if (record.size() < table_bytes(num_fields)) {
    throw Error(ErrorCode::corrupt,
                fmt::format("the record has {} bytes, too few for the table of its {} fields",
                            record.size(), num_fields),
                context_of(name));
  }
  uint64_t end = table_bytes(num_fields);
  for (size_t i = 0; i < num_fields; ++i) {
    const FieldPlace place = place_of_field(record, num_fields, i);
    end = place.end;
    if (end < place.begin || end > record.size() || (place.is_null && end != place.begin)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' ends at byte {}, but the record has {} bytes",
                              stored().fields[i].name, end, record.size()),
                  context_of(name));
    }
  }
  if (end != record.size()) {
    throw Error(ErrorCode::corrupt,
                fmt::format("the last field ends at byte {}, but the record has {} bytes", end,
                            record.size()),
                context_of(name));
  }
}

FieldView RecordView::field(size_t i) const {
  require_field(i, schema_.fields.size());
  const Field& description = schema_.fields[i];
  if (readable_ != nullptr && !(*readable_)[i]) {
    ErrorContext context = context_of(name_);
    context.subject = ErrorSubject::field;
    context.name = description.name;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' was not read, because no decoder of the batch names it in "
                            "its inputs; name it there",
                            description.name),
                context);
  }
  const int64_t position = position_of(i);
  if (position < 0) return {description, {}, true, name_};
  return stored_field(description, static_cast<size_t>(position));
}

int64_t RecordView::position_of(size_t field) const {
  return mapping_ == nullptr ? static_cast<int64_t>(field) : mapping_->positions[field];
}

FieldView RecordView::stored_field(const Field& field, size_t position) const {
  const FieldPlace place = place_of_field(record_, stored().fields.size(), position);
  return {field, record_.subspan(place.begin, place.end - place.begin), place.is_null, name_};
}

void RecordView::verify_checksum(size_t position) const {
  const Field& field = stored().fields[position];
  const FieldPlace place = place_of_field(record_, stored().fields.size(), position);
  const uint32_t crc = field_crc(place, stored_field(field, position).raw());
  if (crc == place.crc32c) return;
  throw Error(ErrorCode::corrupt,
              fmt::format("field '{}' is damaged: its CRC-32C is {:08x}, expected {:08x}",
                          field.name, crc, place.crc32c),
              context_of(name_));
}

void RecordView::verify_fields() const {
  for (size_t i = 0; i < stored().fields.size(); ++i) {
    verify_checksum(i);
    stored_field(stored().fields[i], i).verify();
  }
}

void RecordView::verify_readable() const {
  for (size_t i = 0; i < schema_.fields.size(); ++i) {
    if (readable_ != nullptr && !(*readable_)[i]) continue;
    if (const int64_t position = position_of(i); position >= 0) {
      verify_checksum(static_cast<size_t>(position));
    }
  }
}

std::optional<std::vector<std::byte>> tensor_header(const TensorView& tensor) {
  if (tensor.shape.size() > kMaxDimensions ||
      !shape_fits(tensor.shape, tensor.dtype, tensor.data.size())) {
    return std::nullopt;
  }
  std::vector<std::byte> header(8 + 8 * tensor.shape.size());
  store_le(header.data(), static_cast<uint32_t>(tensor.shape.size()));
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    store_le(header.data() + 8 + 8 * d, tensor.shape[d]);
  }
  return header;
}

std::optional<TensorView> parse_tensor(DType dtype, std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto num_dimensions = load_le<uint32_t>(bytes.data());
  const size_t header_bytes = 8 + 8 * size_t{num_dimensions};
  if (num_dimensions > kMaxDimensions || bytes.size() < header_bytes) return std::nullopt;
  TensorView view{.dtype = dtype};
  for (uint32_t d = 0; d < num_dimensions; ++d) {
    view.shape.push_back(load_le<int64_t>(bytes.data() + 8 + 8 * size_t{d}));
  }
  view.data = bytes.subspan(header_bytes);
  if (!shape_fits(view.shape, dtype, view.data.size())) return std::nullopt;
  return view;
}

std::optional<std::vector<std::span<const std::byte>>> parse_list(
    std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto num_items = load_le<uint64_t>(bytes.data());
  if (num_items > (bytes.size() - 8) / 8) return std::nullopt;
  uint64_t end = 8 + 8 * num_items;
  std::vector<std::span<const std::byte>> items(num_items);
  for (size_t i = 0; i < num_items; ++i) {
    const uint64_t begin = align8(end);
    end = load_le<uint64_t>(bytes.data() + 8 + 8 * i);
    if (end < begin || end > bytes.size()) return std::nullopt;
    items[i] = bytes.subspan(begin, end - begin);
  }
  if (end != bytes.size()) return std::nullopt;
  return items;
}

void require_field(size_t field, size_t num_fields) {
  if (field < num_fields) return;
  throw error_of(ErrorCode::invalid_argument,
                 "there is no field {}; the schema has {} fields, and the first is field 0", field,
                 num_fields);
}

void throw_wrong_type(const Field& field, std::string_view wanted) {
  throw error_of(ErrorCode::invalid_argument, "field '{}' is of type {}, not {}", field.name,
                 to_string(field.type), wanted);
}

std::span<const std::byte> FieldView::typed(FieldType a, FieldType b) const {
  if (field_->type != a && field_->type != b) throw_wrong_type(*field_, to_string(a));
  if (is_null_) {
    ErrorContext context = context_of(name_);
    context.subject = ErrorSubject::field;
    context.name = field_->name;
    throw Error(ErrorCode::not_found,
                fmt::format("field '{}' is null in this record", field_->name), context);
  }
  return raw_;
}

std::span<const std::byte> FieldView::bytes() const {
  return typed(FieldType::bytes, FieldType::image);
}

std::string_view FieldView::string() const {
  return as_text(typed(FieldType::string, FieldType::string));
}

uint64_t FieldView::scalar_bits(DType dtype) const {
  const auto data = typed(FieldType::scalar, FieldType::scalar);
  if (field_->dtype != dtype) {
    throw error_of(ErrorCode::invalid_argument, "field '{}' is a scalar of type {}, not {}",
                   field_->name, to_string(field_->dtype), to_string(dtype));
  }
  if (data.size() != size_of(dtype)) {
    throw_corrupt_field(*field_, data.size(), fmt::format("a {}", to_string(dtype)), name_);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, data.data(), data.size());
  return bits;
}

TensorView FieldView::tensor() const {
  return require_tensor(*field_, typed(FieldType::tensor, FieldType::tensor), name_);
}

ListView FieldView::list() const {
  const auto data = typed(FieldType::list, FieldType::list);
  auto items = parse_list(data);
  if (!items) {
    throw_corrupt_field(*field_, data.size(), fmt::format("a list of {}", to_string(field_->item)),
                        name_);
  }
  ListView view;
  view.name_ = name_;
  view.field_ = field_;
  view.items_ = std::move(*items);
  return view;
}

void FieldView::verify() const {
  if (is_null_) return;
  switch (field_->type) {
    case FieldType::scalar:
      static_cast<void>(scalar_bits(field_->dtype));
      return;
    case FieldType::tensor:
      static_cast<void>(tensor());
      return;
    case FieldType::list: {
      const ListView items = list();
      if (field_->item != FieldType::tensor) return;
      for (size_t i = 0; i < items.size(); ++i) static_cast<void>(items.tensor(i));
      return;
    }
    case FieldType::bytes:
    case FieldType::string:
    case FieldType::image:
      return;
  }
}

std::span<const std::byte> ListView::item(size_t i, FieldType a, FieldType b) const {
  if (i >= items_.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no item {}; the list has {} items", i, items_.size()),
                context_of(name_));
  }
  require_item_type(*field_, a, b);
  return items_[i];
}

std::span<const std::byte> ListView::bytes(size_t i) const {
  return item(i, FieldType::bytes, FieldType::image);
}

std::string_view ListView::string(size_t i) const {
  return as_text(item(i, FieldType::string, FieldType::string));
}

TensorView ListView::tensor(size_t i) const {
  return require_tensor(*field_, item(i, FieldType::tensor, FieldType::tensor), name_);
}

}  // namespace ffkit
