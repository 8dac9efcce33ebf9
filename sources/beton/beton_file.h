// beton files of FFCV, version 2 of the format.
//
//   | header | descriptor of each field | a row of numbers for each sample | pages | allocations |
//
//   header       u16 version, u16 fields, u32 page size, u64 samples, u64 place of the allocations
//   descriptor   u8 type, 16 bytes name, 1024 bytes of arguments
//   row          of each field its number, or where its bytes are, aligned as NumPy does it
//   allocations  u64 sample, u64 place, u64 size each: how long what stands at a place is
//
// Source: ffcv/types.py, writer.py, memory_allocator.py and fields/*.py. Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>

#include "archives/tar_index.h"
#include "files/file_window.h"

namespace ffkit {

enum class BetonType : uint8_t { real, integer, image, bytes, array, json, tensor };

struct BetonField {
  std::string name;
  BetonType type = BetonType::real;
  DType dtype = DType::u8;     // of arrays and tensors
  std::vector<int64_t> shape;  // of arrays and tensors
  size_t offset = 0;           // in a row

  bool operator==(const BetonField&) const = default;
};

// What a field of a sample is.
struct BetonValue {
  uint64_t bits = 0;    // of numbers
  FileRange data;       // of all others
  bool is_raw = false;  // of pictures: pixels [height, width, 3] u8, else a JPEG
  int width = 0;
  int height = 0;
};

class BetonFile {
 public:
  // Reads what is not pages. Throws source_error(): unsupported for another version, for what is no
  // such file and for fields of a type that is not known, corrupt for one that is cut or whose
  // writing was not finished.
  BetonFile(const std::filesystem::path& path, int64_t num_bytes, const ReadBytes& read);

  const std::vector<BetonField>& fields() const noexcept { return fields_; }
  int64_t num_samples() const noexcept { return num_samples_; }
  // Throws Error(corrupt), without a path, for what cannot be: a place outside of the file, one
  // that was not allocated, a picture of another size than its bytes.
  BetonValue value(int64_t sample, size_t field) const;

 private:
  struct Allocation {
    uint64_t place = 0;
    uint64_t num_bytes = 0;
    auto operator<=>(const Allocation&) const = default;
  };

  void read_fields(const std::filesystem::path& path, size_t num_fields, const ReadBytes& read);
  void read_allocations(const std::filesystem::path& path, uint64_t place, const ReadBytes& read);
  FileRange range(uint64_t place, uint64_t num_bytes) const;
  uint64_t allocated(uint64_t place) const;

  const int64_t num_bytes_;
  int64_t num_samples_ = 0;
  std::vector<BetonField> fields_;
  size_t row_bytes_ = 0;
  std::vector<std::byte> rows_;
  std::vector<Allocation> allocations_;  // sorted
};

}  // namespace ffkit
