// Encodings of MosaicML's columns, by their names in index.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit {

enum class MdsKind : uint8_t {
  plain,         // the bytes are the value: bytes, str, jpeg, png, json, str_decimal
  number,        // of the field's dtype
  text_integer,  // str_int
  text_real,     // str_float
  pillow,        // pil
  jpeg_array,
  picture_list,  // list[jpeg], list[png]
  pillow_list,   // list[pil]
  array,         // ndarray
  refused,
};

struct MdsEncoding {
  MdsKind kind = MdsKind::refused;
  Field field;                                // without its name
  std::optional<DType> dtype;                 // of arrays, where the name says it
  std::optional<std::vector<int64_t>> shape;  // likewise
  std::string refusal;                        // of refused: "holds ..."
};

// "ndarray:uint8:3,4".
MdsEncoding parse_mds_encoding(const std::string& name);

// The dtype that stands for `number` in arrays; throws Error(corrupt) for others.
DType mds_array_dtype(uint8_t number);

}  // namespace ffkit
