// JSON fields: the members of a JSON object as the fields of a record.
//
//   text                string             "id" is a column
//   true, false         scalar u8, column  1 or 0
//   whole number        scalar i64, column
//   other number        scalar f64, column
//   whole numbers       tensor of the dtype for tokens, of the array's shape ([[1, 2], [3, 4]] is [2, 2])
//   other numbers       tensor f32         whole numbers among them are taken
//   texts               list of strings
//   anything else       string             the JSON text of it: objects, arrays of unequal lengths, mixtures
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>

namespace ffkit {

enum class JsonKind : uint8_t {
  unknown,  // null and [] do not tell
  text,
  boolean,
  integer,
  real,
  integers,
  reals,
  texts,
  other
};

struct JsonField {
  std::string name;
  JsonKind kind = JsonKind::unknown;
  DType token_dtype = DType::i32;  // of `integers`

  Field field() const;
};

// What the members of `object` are, in their order; nulls and empty arrays are unknown. Throws Error(invalid_argument) for names that fields
// cannot have, without a path.
std::vector<JsonField> json_fields(const simdjson::dom::object& object, DType token_dtype);

// Gives unknown fields the kinds that the members of another object have. Returns the name of a field that is unknown still, or "".
std::string learn_json_kinds(std::vector<JsonField>& fields, const simdjson::dom::object& object);

// Sets field i of `record` to the member called fields[i].name; null members are null. The values live in `buffers`. Throws
// Error(invalid_argument), without a path, when a member is missing, is too many or is of another kind.
void set_json_fields(RecordBuilder& record, const std::vector<JsonField>& fields,
                     const simdjson::dom::object& object, SampleBuffers& buffers);

}  // namespace ffkit
