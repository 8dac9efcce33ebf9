// The bytes of a record (FORMAT.md, "Records and alignment" and "Schema"): the field table at its
// start, tensors and lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/format/record.h>

namespace ffkit {

inline constexpr uint64_t kNullBit = 1ULL << 63;

constexpr uint64_t align8(uint64_t n) {
  return (n + 7) & ~uint64_t{7};
}
constexpr uint64_t table_bytes(size_t num_fields) {
  return align8(12 * num_fields);
}

// Where field `i` lies in its record, as the table says; not checked.
struct FieldPlace {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_null = false;
  uint32_t crc32c = 0;  // as stored
};
// `table` holds at least table_bytes(num_fields) bytes.
FieldPlace place_of_field(std::span<const std::byte> table, size_t num_fields, size_t i);

// What errors say of the record.
ErrorContext context_of(const RecordName& name);

// The checksum of a field: over its end as it stands in the table, then its bytes.
uint32_t field_crc(const FieldPlace& place, std::span<const std::byte> bytes);

// The header of `tensor`'s bytes; nothing when data, shape and dtype do not fit together.
std::optional<std::vector<std::byte>> tensor_header(const TensorView& tensor);
// The tensor in a field's bytes; nothing when they do not hold one.
std::optional<TensorView> parse_tensor(DType dtype, std::span<const std::byte> bytes);
// The items of a list in a field's bytes; nothing when they do not hold one.
std::optional<std::vector<std::span<const std::byte>>> parse_list(std::span<const std::byte> bytes);

// Throws Error(invalid_argument) unless the schema, of `num_fields`, has the field.
void require_field(size_t field, size_t num_fields);
[[noreturn]] void throw_wrong_type(const Field& field, std::string_view wanted);

}  // namespace ffkit
