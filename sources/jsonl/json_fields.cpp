#include "jsonl/json_fields.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <ffkit/base/enum_names.h>
#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "converter/input/sample_arrays.h"
#include "numbers/json_numbers.h"
#include "rows/row_table.h"

namespace ffkit {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;

// The kind of the innermost elements of an array of numbers of equal shapes; `other` for any other
// array.
JsonKind leaf_kind(dom::element value, std::span<const int64_t> shape) {
  dom::array array;
  if (shape.empty()) {
    if (value.type() == Type::INT64) return JsonKind::integers;
    return value.type() == Type::DOUBLE ? JsonKind::reals : JsonKind::other;
  }
  if (value.get_array().get(array) != simdjson::SUCCESS) return JsonKind::other;
  int64_t num_items = 0;
  JsonKind kind = JsonKind::integers;
  for (const dom::element item : array) {
    const JsonKind found = leaf_kind(item, shape.subspan(1));
    if (found == JsonKind::other) return JsonKind::other;
    if (found == JsonKind::reals) kind = JsonKind::reals;
    ++num_items;
  }
  return num_items == shape[0] ? kind : JsonKind::other;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as simdjson goes
bool is_null_or_has_one(dom::element value) {
  dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return value.is_null();
  return std::ranges::any_of(array, is_null_or_has_one);
}

// The items of an array that are not null, and have no null in their arrays, as JSON of `parser`.
// `num_bad`: how many others there are.
dom::element without_nulls(dom::element value, dom::parser& parser, int64_t& num_bad) {
  num_bad = 0;
  std::string text = "[";
  for (const dom::element item : value.get_array()) {
    if (is_null_or_has_one(item)) {
      ++num_bad;
    } else {
      text += (text.size() > 1 ? "," : "") + simdjson::minify(item);
    }
  }
  return num_bad == 0 ? value : parser.parse(text + "]").value();
}

JsonKind array_kind(dom::element value) {
  if (is_null_or_has_one(value)) {
    dom::parser parser;
    int64_t num_bad = 0;
    return array_kind(without_nulls(value, parser, num_bad));
  }
  const dom::array array = value.get_array();
  if (array.size() == 0) return JsonKind::empty;
  bool are_texts = true;
  for (const dom::element item : array) {
    are_texts = are_texts && item.is_string();
  }
  if (are_texts) return JsonKind::texts;
  const std::vector<int64_t> shape = json_shape(value);
  const JsonKind kind = leaf_kind(value, shape);
  return kind == JsonKind::integers && shape.back() == 0 ? JsonKind::empty : kind;
}

JsonKind kind_of(dom::element value) {
  switch (value.type()) {
    case Type::NULL_VALUE:
      return JsonKind::none;
    case Type::STRING:
      return JsonKind::text;
    case Type::BOOL:
      return JsonKind::boolean;
    case Type::INT64:
      return JsonKind::integer;
    case Type::DOUBLE:
      return JsonKind::real;
    case Type::ARRAY:
      return array_kind(value);
    default:
      return JsonKind::other;
  }
}

constexpr EnumName<JsonKind> kJsonKindNames[] = {{JsonKind::none, "null"},
                                                 {JsonKind::empty, "an empty array"},
                                                 {JsonKind::text, "text"},
                                                 {JsonKind::boolean, "true or false"},
                                                 {JsonKind::integer, "a whole number"},
                                                 {JsonKind::real, "a number"},
                                                 {JsonKind::integers, "an array of whole numbers"},
                                                 {JsonKind::reals, "an array of numbers"},
                                                 {JsonKind::texts, "an array of texts"},
                                                 {JsonKind::other, "other JSON"}};

template <typename T>
void set_tensor(RecordBuilder& record, size_t position, dom::element value,
                SampleBuffers& buffers) {
  std::vector<T> numbers;
  const std::vector<int64_t> shape = json_shape(value);
  append_numbers(value, shape, numbers);
  set_copy<T>(record, position, numbers, shape, buffers);
}

void set_tokens(RecordBuilder& record, size_t position, const JsonField& field, dom::element value,
                SampleBuffers& buffers) {
  try {
    const DType dtype = field.dtypes.tokens;
    if (dtype == DType::u16) set_tensor<uint16_t>(record, position, value, buffers);
    if (dtype == DType::i32) set_tensor<int32_t>(record, position, value, buffers);
    if (dtype == DType::i64) set_tensor<int64_t>(record, position, value, buffers);
  } catch (const Error& error) {
    if (is_out_of_memory(error)) throw;
    throw error.with_message(fmt::format(
        "{} ({})", error.message(), option_set("token_dtype", to_string(field.dtypes.tokens))));
  }
}

// Among reals, a whole number beyond 2^53 would silently become another one.
void require_exact(dom::element value) {
  dom::array array;
  if (value.get_array().get(array) == simdjson::SUCCESS) {
    for (const dom::element item : array) require_exact(item);
    return;
  }
  int64_t number = 0;
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value.get_int64().get(number) != simdjson::SUCCESS || std::abs(number / 2) < kExact / 2) {
    return;
  }
  const auto real = static_cast<double>(number);
  if (real < 0x1p63 && static_cast<int64_t>(real) == number) return;
  throw error_of(ErrorCode::invalid_argument,
                 "the whole number {} does not fit f64, but ffkit needs f64 because other lines "
                 "have numbers that are not whole",
                 number);
}

void set_reals(RecordBuilder& record, size_t position, const JsonField& field, dom::element value,
               SampleBuffers& buffers) {
  if (field.dtypes.reals == DType::f32) {
    return set_tensor<float>(record, position, value, buffers);
  }
  require_exact(value);
  set_tensor<double>(record, position, value, buffers);
}

void set_json_texts(RecordBuilder& record, size_t position, const dom::array& array,
                    SampleBuffers& buffers) {
  std::vector<std::string_view> texts;
  for (const dom::element item : array) {
    const std::string_view text = item.get_string();
    texts.push_back(buffers.text(text));
  }
  record.set_list(position, std::span<const std::string_view>(texts));
}

// `value` is not null.
void set_field(RecordBuilder& record, size_t position, const JsonField& field, dom::element value,
               SampleBuffers& buffers) {
  const JsonKind found = kind_of(value);
  const bool is_array = field.kind == JsonKind::integers || field.kind == JsonKind::reals ||
                        field.kind == JsonKind::texts;
  const bool fits = found == field.kind || field.kind == JsonKind::other ||
                    (field.kind == JsonKind::real && found == JsonKind::integer) ||
                    (field.kind == JsonKind::reals && found == JsonKind::integers) ||
                    (is_array && found == JsonKind::empty);
  if (!fits) {
    throw error_of(ErrorCode::invalid_argument,
                   "the value is {} here, but {} in other lines; use one type in all lines",
                   name_of(kJsonKindNames, found), name_of(kJsonKindNames, field.kind));
  }
  dom::parser parser;
  if (is_array) {
    int64_t num_bad = 0;
    value = without_nulls(value, parser, num_bad);
    if (num_bad > 0) {
      buffers.leave_out(fmt::format("'{}': items that are null, or have a null inside", field.name),
                        "", num_bad);
    }
  }
  switch (field.kind) {
    case JsonKind::text:
      return record.set_string(position, buffers.text(std::string_view(value.get_string())));
    case JsonKind::boolean:
      return record.set_scalar<uint8_t>(position, bool(value.get_bool()) ? 1 : 0);
    case JsonKind::integer:
      return record.set_scalar(position, json_number<int64_t>(value));
    case JsonKind::real:
      require_exact(value);
      return record.set_scalar(position, json_number<double>(value));
    case JsonKind::integers:
      return set_tokens(record, position, field, value, buffers);
    case JsonKind::reals:
      return set_reals(record, position, field, value, buffers);
    case JsonKind::texts:
      return set_json_texts(record, position, value.get_array(), buffers);
    case JsonKind::other:
    case JsonKind::none:
    case JsonKind::empty:
      return record.set_string(position, buffers.text(simdjson::minify(value)));
  }
}

// Of the field `key`; fields.size() where there is none. `likely`: where it is when lines have one
// order, as they mostly do.
size_t position_of(std::string_view key, const std::vector<JsonField>& fields, size_t likely) {
  if (likely < fields.size() && fields[likely].name == key) return likely;
  return static_cast<size_t>(std::ranges::find(fields, key, &JsonField::name) - fields.begin());
}

}  // namespace

Field JsonField::field() const {
  switch (kind) {
    case JsonKind::boolean:
      return {name, FieldType::scalar, DType::u8, true};
    case JsonKind::integer:
      return {name, FieldType::scalar, DType::i64, true};
    case JsonKind::real:
      return {name, FieldType::scalar, DType::f64, true};
    case JsonKind::integers:
      return {name, FieldType::tensor, dtypes.tokens};
    case JsonKind::reals:
      return {name, FieldType::tensor, dtypes.reals};
    case JsonKind::texts:
      return {name, FieldType::list, DType::u8, false, FieldType::string};
    case JsonKind::none:
    case JsonKind::empty:
    case JsonKind::text:
    case JsonKind::other:
      break;
  }
  return {name, FieldType::string, DType::u8, name == "id"};
}

std::vector<JsonField> json_fields(const dom::object& object, const JsonDtypes& dtypes) {
  std::vector<JsonField> fields;
  for (const auto& [key, value] : object) {
    if (std::ranges::find(fields, key, &JsonField::name) == fields.end()) {
      fields.push_back({std::string(key), kind_of(value), dtypes});
    }
  }
  Schema schema;
  for (const JsonField& field : fields) schema.fields.push_back(field.field());
  validate(schema);
  return fields;
}

void SeenKinds::add(JsonKind kind) {
  if (first <= JsonKind::empty) first = std::max(first, kind);
  all |= 1U << static_cast<unsigned>(kind);
}

void SeenKinds::add(const SeenKinds& later) {
  if (first <= JsonKind::empty) first = std::max(first, later.first);
  all |= later.all;
}

JsonKind SeenKinds::settled() const {
  const auto has = [this](JsonKind kind) { return (all >> static_cast<unsigned>(kind) & 1U) != 0; };
  if (first == JsonKind::integer && has(JsonKind::real)) return JsonKind::real;
  if (first == JsonKind::integers && has(JsonKind::reals)) return JsonKind::reals;
  return first;
}

void see_json_kinds(const std::vector<JsonField>& fields, const dom::object& object,
                    std::vector<SeenKinds>& seen) {
  size_t next = 0;
  for (const auto& [key, value] : object) {
    next = position_of(key, fields, next);
    if (next < fields.size()) seen[next].add(kind_of(value));
    ++next;
  }
}

void set_json_fields(RecordBuilder& record, const std::vector<JsonField>& fields,
                     const dom::object& object, SampleBuffers& buffers) {
  std::vector<std::optional<dom::element>> values(fields.size());
  size_t next = 0;
  for (const auto& [key, value] : object) {
    next = position_of(key, fields, next);
    if (next == fields.size()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the first line has no member '{}', but this line has one; give all lines the "
                     "same members",
                     key);
    }
    values[next++] = value;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!values[i]) {
      throw error_of(ErrorCode::invalid_argument,
                     "this line has no member '{}', but the first line has one; write null if "
                     "there is no value",
                     fields[i].name);
    }
    const auto set = [&] { set_field(record, i, fields[i], *values[i], buffers); };
    if (!values[i]->is_null()) in_column(fields[i].name, set, "member");
  }
}

}  // namespace ffkit
