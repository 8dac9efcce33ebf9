// safetensors files: named tensors and text, readable without running code
// (https://github.com/huggingface/safetensors).
//
//   | u64 H | JSON header, H bytes, padded with spaces to a multiple of 8 | numbers, little-endian,
//   row-major | header: {"__metadata__": {text: text, ...}, name: {"dtype": "F32", "shape": [..],
//   "data_offsets": [begin, end]}, ...}
//
// Files written here carry "crc32c" in their metadata: the CRC-32C, as 8 hex digits, of header and
// numbers with the digits themselves taken as zeros. Files without it (from other programs) are
// read unchecked.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/trainer/model.h>

#include "base/file/file.h"
#include "files/state_dict.h"

namespace ffkit {

// The types of numbers in files, by their names.

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

struct SafeTensors {
  std::vector<NamedTensor> tensors;             // on the CPU; after reading contiguous
  std::map<std::string, std::string> metadata;  // keys other than "crc32c"
  std::vector<UnreadTensor> unread;  // set by reading: those of a dtype that is not known here
  bool is_checked = false;           // set by reading: there was a CRC and it fits
};

// Writes `path` atomically (temporary name, fsync, rename, fsync of the folder), replacing what was
// there. Throws Error(io).
void write_safetensors(const std::filesystem::path& path, const SafeTensors& contents);

// Reads a whole file. Throws Error(not_found), Error(io), and Error(corrupt) naming the first thing
// that is wrong: a length beyond the end of the file, a header that is not one, tensors that
// overlap, leave gaps or do not fit their shape, a wrong CRC. Throws as refuse_foreign_weights()
// for a file that does not begin as one.
SafeTensors read_safetensors(const std::filesystem::path& path);
// Only the metadata; the numbers are neither read nor checked.
std::map<std::string, std::string> read_safetensors_metadata(const std::filesystem::path& path);

// An open file, whose header is read once. Throws as read_safetensors(). Not thread-safe.
class SafeTensorsReader {
 public:
  explicit SafeTensorsReader(const std::filesystem::path& path);
  explicit SafeTensorsReader(File file);
  ~SafeTensorsReader();
  SafeTensorsReader(SafeTensorsReader&&) noexcept;

  const std::filesystem::path& path() const { return file_.path(); }
  // As read_safetensors_metadata(), and as read_safetensors().
  std::map<std::string, std::string> metadata() const;
  SafeTensors read_all() const;

  // Of single tensors; the CRC of the file is not looked at: who reads them so keeps a CRC of each
  // elsewhere. Type and shape, without storage; undefined when there is none of this name.
  at::Tensor description(const std::string& name) const;
  // Throws Error(io), Error(corrupt), and Error(not_found) when there is none of this name.
  at::Tensor read(const std::string& name) const;

 private:
  struct Contents;
  File file_;
  std::unique_ptr<Contents> contents_;
};

// Returns what `read` returns. Its Error is about the checkpoint or weights `path`, unless it says
// what else it is about.
template <typename Read>
auto of_checkpoint(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.within({.path = path.string(), .subject = ErrorSubject::checkpoint});
  }
}

}  // namespace ffkit
