#include <fmt/format.h>

#include <ffkit/format/error.h>
#include <ffkit/format/record.h>

#include "tensor_layout.h"

namespace ffkit {
namespace {

[[noreturn]] void throw_corrupt(const Field& field, size_t num_bytes, const std::string& wanted) {
  throw Error(ErrorCode::corrupt,
              fmt::format("field '{}': {} bytes are not {}", field.name, num_bytes, wanted));
}

TensorView require_tensor(const Field& field, std::span<const std::byte> bytes) {
  const auto tensor = parse_tensor(field.dtype, bytes);
  if (!tensor) {
    throw_corrupt(field, bytes.size(), fmt::format("a tensor of {}", to_string(field.dtype)));
  }
  return *tensor;
}

void require_item_type(const Field& field, FieldType a, FieldType b) {
  if (field.item != a && field.item != b) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is a list of {}, not of {}", field.name,
                            to_string(field.item), to_string(a)));
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::span<const std::byte> FieldView::typed(FieldType a, FieldType b) const {
  if (field_->type != a && field_->type != b) throw_wrong_type(*field_, to_string(a));
  if (is_null_) {
    throw Error(ErrorCode::not_found,
                fmt::format("field '{}' is null in this record", field_->name));
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
    throw Error(ErrorCode::invalid_argument,
                fmt::format("field '{}' is a scalar {}, not {}", field_->name,
                            to_string(field_->dtype), to_string(dtype)));
  }
  if (data.size() != size_of(dtype)) {
    throw_corrupt(*field_, data.size(), fmt::format("a {}", to_string(dtype)));
  }
  uint64_t bits = 0;
  std::memcpy(&bits, data.data(), data.size());
  return bits;
}

TensorView FieldView::tensor() const {
  return require_tensor(*field_, typed(FieldType::tensor, FieldType::tensor));
}

ListView FieldView::list() const {
  const auto data = typed(FieldType::list, FieldType::list);
  auto items = parse_list(data);
  if (!items) {
    throw_corrupt(*field_, data.size(), fmt::format("a list of {}", to_string(field_->item)));
  }
  ListView view;
  view.field_ = field_;
  view.items_ = std::move(*items);
  return view;
}

std::span<const std::byte> ListView::bytes(size_t i) const {
  require_item_type(*field_, FieldType::bytes, FieldType::image);
  return items_.at(i);
}

std::string_view ListView::string(size_t i) const {
  require_item_type(*field_, FieldType::string, FieldType::string);
  return as_text(items_.at(i));
}

TensorView ListView::tensor(size_t i) const {
  require_item_type(*field_, FieldType::tensor, FieldType::tensor);
  return require_tensor(*field_, items_.at(i));
}

}  // namespace ffkit
