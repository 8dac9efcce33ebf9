#include <fmt/format.h>

#include <ffkit/base/crc32c.h>
#include <ffkit/format/record.h>

#include "base/little_endian.h"
#include "base/make_error.h"
#include "record/record_layout.h"

namespace ffkit {
namespace {

[[noreturn]] void out_of_range(size_t field, size_t num_fields) {
  throw error_of(ErrorCode::invalid_argument, "field {} is out of range: the schema has {}", field,
                 num_fields);
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
                       const FieldMapping* mapping)
    : schema_(schema), record_(record), name_(name), mapping_(mapping) {
  const size_t num_fields = stored().fields.size();
  if (record.size() < table_bytes(num_fields)) {
    throw Error(ErrorCode::corrupt,
                fmt::format("a record of {} bytes is too short for the table of {} fields",
                            record.size(), num_fields),
                context_of(name));
  }
  uint64_t end = table_bytes(num_fields);
  for (size_t i = 0; i < num_fields; ++i) {
    const FieldPlace place = place_of_field(record, num_fields, i);
    end = place.end;
    if (end < place.begin || end > record.size() || (place.is_null && end != place.begin)) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' ends at byte {} of a record of {} bytes",
                              stored().fields[i].name, end, record.size()),
                  context_of(name));
    }
  }
  if (end != record.size()) {
    throw Error(
        ErrorCode::corrupt,
        fmt::format("the last field ends at byte {} of a record of {} bytes", end, record.size()),
        context_of(name));
  }
}

FieldView RecordView::field(size_t i) const {
  const size_t num_fields = schema_.fields.size();
  if (i >= num_fields) out_of_range(i, num_fields);
  const Field& description = schema_.fields[i];
  if (mapping_ == nullptr) return stored_field(description, i);
  const int64_t position = mapping_->positions[i];
  if (position < 0) return {description, {}, true, name_};
  return stored_field(description, static_cast<size_t>(position));
}

FieldView RecordView::stored_field(const Field& field, size_t position) const {
  const FieldPlace place = place_of_field(record_, stored().fields.size(), position);
  return {field, record_.subspan(place.begin, place.end - place.begin), place.is_null, name_};
}

void RecordView::verify_fields() const {
  const size_t num_fields = stored().fields.size();
  for (size_t i = 0; i < num_fields; ++i) {
    const FieldPlace place = place_of_field(record_, num_fields, i);
    const FieldView view = stored_field(stored().fields[i], i);
    const uint32_t crc = field_crc(place, view.raw());
    if (crc != place.crc32c) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("field '{}' is damaged: its CRC-32C is {:08x}, expected {:08x}",
                              stored().fields[i].name, crc, place.crc32c),
                  context_of(name_));
    }
    view.verify();
  }
}

}  // namespace ffkit
