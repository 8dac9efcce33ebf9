#include "v1/v1_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include <ffkit/base/option_names.h>
#include <ffkit/format/dtype_visitor.h>

#include "base/bytes/pickle.h"
#include "base/make_error.h"
#include "format/schema/label_field.h"

namespace ffkit {
namespace {

std::optional<size_t> first_of(const Schema& schema, std::initializer_list<FieldType> types) {
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (std::ranges::find(types, schema.fields[i].type) != types.end()) return i;
  }
  return std::nullopt;
}

bool holds_bytes(const Field& field) {
  return field.type == FieldType::image || field.type == FieldType::bytes;
}

int64_t integer(const FieldView& value, DType dtype) {
  return visit_dtype(dtype, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(value.scalar<T>());
    } else {
      return 0;  // find_label_field() takes integers only
    }
  });
}

}  // namespace

V1Payloads::V1Payloads(const Schema& schema, V1Content content, const std::string& field)
    : schema_(schema), content_(content) {
  if (content_ == V1Content::imagenet) {
    if (!fits_imagenet(schema_, field)) {
      throw error_of(ErrorCode::invalid_argument,
                     "ImageNet's payload needs {} and an integer field 'label'; give {} to write "
                     "one field's bytes",
                     field.empty() ? "a field of pictures"
                                   : fmt::format("a field '{}' of pictures or bytes", field),
                     option_set("payload", "raw"));
    }
    data_ = field.empty() ? *first_of(schema_, {FieldType::image}) : schema_.require(field);
    label_ = *find_label_field(schema_);
  } else if (!field.empty()) {
    data_ = schema_.require(field);
  } else if (const auto found = first_of(schema_, {FieldType::image, FieldType::bytes})) {
    data_ = *found;
  } else {
    throw Error(
        ErrorCode::invalid_argument,
        "there is no field of pictures or bytes; name the one whose bytes are wanted with " +
            option_name("field"));
  }
}

bool V1Payloads::fits_imagenet(const Schema& schema, const std::string& field) {
  if (!find_label_field(schema)) return false;
  if (field.empty()) return first_of(schema, {FieldType::image}).has_value();
  const int index = schema.index_of(field);
  return index >= 0 && holds_bytes(schema.fields[static_cast<size_t>(index)]);
}

std::vector<std::string> V1Payloads::left_out() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < schema_.fields.size(); ++i) {
    if (i == data_ || (content_ == V1Content::imagenet && i == label_)) continue;
    names.push_back(schema_.fields[i].name);
  }
  return names;
}

V1Payloads::Payload V1Payloads::make(const RecordView& record) {
  const auto required = [&](size_t field) {
    const FieldView value = record.field(field);
    if (value.is_null()) {
      throw error_of(ErrorCode::invalid_argument,
                     "field '{}' is null, which FFRecord v1 cannot say",
                     schema_.fields[field].name);
    }
    return value;
  };
  std::span<const std::byte> data = required(data_).raw();
  if (schema_.fields[data_].type == FieldType::image && is_dct_picture(data)) {
    transcoder_.decode_to_jpeg(data, jpeg_);
    data = jpeg_;
  }
  if (content_ != V1Content::imagenet) return {.bytes = data};
  const int64_t label = integer(required(label_), schema_.fields[label_].dtype);
  pickle_bytes_and_label(data, label, buffer_);
  return {.bytes = buffer_, .label = label};
}

}  // namespace ffkit
