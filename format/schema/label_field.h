// The field that says the class of a record, by its name.
#pragma once

#include <cstddef>
#include <optional>

#include <ffkit/format/dtype_visitor.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// The position of the integer scalar "label".
inline std::optional<size_t> find_label_field(const Schema& schema) {
  const int index = schema.index_of("label");
  if (index < 0) return std::nullopt;
  const Field& field = schema.fields[static_cast<size_t>(index)];
  if (field.type != FieldType::scalar || !is_integer(field.dtype)) return std::nullopt;
  return static_cast<size_t>(index);
}

}  // namespace ffkit
