// JSON fields: the members of a JSON object as the fields of a record.
//
//   text                string             "id" is a column
//   true, false         scalar u8, column  1 or 0
//   whole number        scalar i64, column
//   other number        scalar f64, column
//   whole numbers       tensor of the dtype for tokens, of the array's shape ([[1, 2], [3, 4]] is
//                       [2, 2])
//   other numbers       tensor f64 or f32  whole numbers among them are taken
//   texts               list of strings
//   anything else       string             the JSON text of it: objects, arrays of unequal lengths,
//                                          mixtures
//
// The type of a member is settled over all lines: whole numbers and others together are reals,
// whichever come first.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ffkit/converter/source.h>

namespace ffkit {

enum class JsonKind : uint8_t {
  none,   // null; does not tell
  empty,  // [], [[]]: an array of something
  text,
  boolean,
  integer,
  real,
  integers,
  reals,
  texts,
  other
};

struct JsonDtypes {
  DType tokens = DType::i32;  // of arrays of whole numbers: u16, i32, i64
  DType reals = DType::f64;   // of arrays of other numbers: f32, f64
};

struct JsonField {
  std::string name;
  JsonKind kind = JsonKind::none;
  JsonDtypes dtypes = {};

  // Whether `kind` says what the field is: not for none and empty.
  bool is_known() const { return kind > JsonKind::empty; }
  Field field() const;
};

// What the members of `object` are, in their order. Throws Error(invalid_argument) for names that
// fields cannot have, without a path.
std::vector<JsonField> json_fields(const simdjson::dom::object& object, const JsonDtypes& dtypes);

// The kinds that a member has had in some lines.
struct SeenKinds {
  JsonKind first = JsonKind::none;  // that is known, or the most that is known
  uint32_t all = 0;                 // a bit each

  void add(JsonKind kind);
  // Those of later lines.
  void add(const SeenKinds& later);
  // The first one; reals where whole numbers and reals have been seen.
  JsonKind settled() const;
};

// Adds the kinds of the members of `object`; seen[i] is of fields[i]. Other members are passed
// over: set_json_fields() refuses the line.
void see_json_kinds(const std::vector<JsonField>& fields, const simdjson::dom::object& object,
                    std::vector<SeenKinds>& seen);

// Sets field i of `record` to the member called fields[i].name; null members are null. Of a member
// that is there twice the last one counts, as in Python. The values live in `buffers`. Throws
// Error(invalid_argument), without a path, when a member is missing, is too many or is of another
// kind, and for whole numbers that a field of reals cannot hold exactly.
void set_json_fields(RecordBuilder& record, const std::vector<JsonField>& fields,
                     const simdjson::dom::object& object, SampleBuffers& buffers);

}  // namespace ffkit
