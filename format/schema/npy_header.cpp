#include "schema/npy_header.h"

#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "base/little_endian.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

[[noreturn]] void no_npy(const std::string& why) {
  throw Error(ErrorCode::corrupt, "the data are not a .npy file: " + why);
}

// The text between the value's first character and what ends it in "{'descr': '<f4',
// 'fortran_order': False, 'shape': (3, 4), }".
std::string_view text_of_key(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}'", key));
  const size_t colon = at == std::string_view::npos ? at : header.find(':', at + key.size() + 2);
  const size_t begin =
      colon == std::string_view::npos ? colon : header.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos) no_npy(fmt::format("the header has no '{}'", key));
  const char open = header[begin];
  const size_t end = open == '('    ? header.find(')', begin)
                     : open == '\'' ? header.find('\'', begin + 1)
                                    : header.find_first_of(",}", begin);
  if (end == std::string_view::npos) no_npy(fmt::format("'{}' in the header does not end", key));
  const bool is_bracketed = open == '(' || open == '\'';
  return is_bracketed ? header.substr(begin + 1, end - begin - 1)
                      : header.substr(begin, end - begin);
}

std::vector<int64_t> parse_shape(std::string_view text) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == ',') {
      ++i;
      continue;
    }
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), size);
    if (error != std::errc{} || size < 0) no_npy(fmt::format("its shape ({}) is not valid", text));
    shape.push_back(size);
    i = static_cast<size_t>(end - text.data());
  }
  return shape;
}

}  // namespace

DType dtype_of_numpy(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, DType>, 14> kTypes = {{
      {"|b1", DType::u8},
      {"|u1", DType::u8},
      {"<u1", DType::u8},
      {"|i1", DType::i8},
      {"<i1", DType::i8},
      {"<u2", DType::u16},
      {"<i2", DType::i16},
      {"<u4", DType::u32},
      {"<i4", DType::i32},
      {"<u8", DType::u64},
      {"<i8", DType::i64},
      {"<f2", DType::f16},
      {"<f4", DType::f32},
      {"<f8", DType::f64},
  }};
  for (const auto& [name, dtype] : kTypes) {
    if (descr == name) return dtype;
  }
  throw error_of(
      ErrorCode::unsupported,
      "ffkit does not support numbers of the NumPy type '{}'; save the numbers as little-endian "
      "integers or floats of 1 to 8 bytes",
      descr);
}

NpyHeader read_npy_header(std::span<const std::byte> file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr size_t kShortest = 10;
  if (file.size() < kShortest || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    no_npy("they do not begin with \\x93NUMPY");
  }
  const auto version = std::to_integer<int>(file[6]);
  if (version < 1 || version > 3) {
    throw error_of(ErrorCode::unsupported,
                   "the data are a .npy file of version {}; ffkit supports the versions 1 to 3",
                   version);
  }
  const size_t begin = version == 1 ? kShortest : kShortest + 2;
  if (file.size() < begin) no_npy("they are cut off");
  const size_t length =
      version == 1 ? load_le<uint16_t>(file.data() + 8) : load_le<uint32_t>(file.data() + 8);
  if (file.size() - begin < length) no_npy("they are cut off");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + begin, length);

  NpyHeader result{.dtype = dtype_of_numpy(text_of_key(header, "descr")),
                   .shape = parse_shape(text_of_key(header, "shape")),
                   .data_offset = begin + length};
  const size_t num_bytes = file.size() - result.data_offset;
  size_t expected = size_of(result.dtype);
  for (const int64_t size : result.shape) {
    if (__builtin_mul_overflow(expected, static_cast<size_t>(size), &expected)) {
      no_npy("the shape is too large");
    }
  }
  if (num_bytes != expected) {
    no_npy(fmt::format("the shape needs {} bytes of numbers, but there are {} bytes", expected,
                       num_bytes));
  }
  const std::string_view order = text_of_key(header, "fortran_order");
  // An array of one dimension is the same in both orders, and NumPy may write either.
  if (order.starts_with("True") && result.shape.size() > 1) {
    throw Error(ErrorCode::unsupported,
                "the numbers of the array are in Fortran order; save "
                "numpy.ascontiguousarray(array) instead");
  }
  return result;
}

}  // namespace ffkit
