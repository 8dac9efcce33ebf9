// NumPy's .npy files: what their header says. Format:
// numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1, 2 and 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/format/schema.h>

namespace ffkit {

struct NpyHeader {
  DType dtype = DType::u8;
  std::vector<int64_t> shape;
  size_t data_offset = 0;  // of the row-major numbers in the file
};

// The dtype that NumPy describes as `descr`: "<f4", "|b1". Booleans become u8. Throws
// Error(unsupported) as read_npy_header().
DType dtype_of_numpy(std::string_view descr);

// Reads the header of `file` and checks that its numbers are all there. Booleans become u8. Throws
// Error(corrupt) for what is no .npy file, Error(unsupported) for Fortran order, big-endian numbers
// and other types than DType has (complex numbers, texts, objects); without a path.
NpyHeader read_npy_header(std::span<const std::byte> file);

}  // namespace ffkit
