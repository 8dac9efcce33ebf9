// The types of numbers in files, by their names.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <string_view>

namespace ffkit {

struct FileType {
  at::ScalarType type;
  std::string_view torch;        // as torch.float32
  std::string_view safetensors;  // as "F32"; empty: none
};
inline constexpr std::array kFileTypes = {
    FileType{at::kFloat, "float32", "F32"},
    FileType{at::kDouble, "float64", "F64"},
    FileType{at::kHalf, "float16", "F16"},
    FileType{at::kBFloat16, "bfloat16", "BF16"},
    FileType{at::kLong, "int64", "I64"},
    FileType{at::kInt, "int32", "I32"},
    FileType{at::kShort, "int16", "I16"},
    FileType{at::kChar, "int8", "I8"},
    FileType{at::kByte, "uint8", "U8"},
    FileType{at::kBool, "bool", "BOOL"},
    FileType{at::kUInt64, "uint64", "U64"},
    FileType{at::kUInt32, "uint32", "U32"},
    FileType{at::kUInt16, "uint16", "U16"},
    FileType{at::kComplexFloat, "complex64", "C64"},
    FileType{at::kComplexDouble, "complex128", ""},
    FileType{at::kFloat8_e4m3fn, "float8_e4m3fn", "F8_E4M3"},
    FileType{at::kFloat8_e5m2, "float8_e5m2", "F8_E5M2"},
    FileType{at::kFloat8_e4m3fnuz, "float8_e4m3fnuz", "F8_E4M3FNUZ"},
    FileType{at::kFloat8_e5m2fnuz, "float8_e5m2fnuz", "F8_E5M2FNUZ"},
    FileType{at::kFloat8_e8m0fnu, "float8_e8m0fnu", "F8_E8M0"},
};

}  // namespace ffkit
