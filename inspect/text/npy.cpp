#include "text/npy.h"

#include <fmt/format.h>

#include <ffkit/format/dtype_visitor.h>

namespace ffkit {
namespace {

std::string numpy_dtype(DType dtype) {
  if (dtype == DType::bf16) return "<f4";
  const char kind = is_integer(dtype) ? to_string(dtype).front() : 'f';  // "u8" is NumPy's "u1"
  return fmt::format("{}{}{}", size_of(dtype) == 1 ? '|' : '<', kind, size_of(dtype));
}

}  // namespace

std::string npy_file(const TensorView& tensor) {
  std::string shape;
  for (const int64_t size : tensor.shape) shape += fmt::format("{},", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   numpy_dtype(tensor.dtype), shape);
  // Magic, version, length of the header and the header are together a multiple of 64 bytes, the
  // last one a line end.
  constexpr size_t kBefore = 10;
  header.append(63 - (kBefore + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  if (tensor.dtype != DType::bf16) {
    return file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  }
  for (size_t at = 0; at < tensor.data.size(); at += sizeof(BFloat16)) {
    const auto value = static_cast<float>(load_number<BFloat16>(tensor.data.data() + at));
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return file;
}

}  // namespace ffkit
