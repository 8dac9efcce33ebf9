#include "record/tensor_layout.h"

#include "base/little_endian.h"
#include "base/make_error.h"
#include "record/record_layout.h"

namespace ffkit {
namespace {

constexpr uint32_t kMaxDimensions = 32;

// Whether product(shape) * size_of(dtype) == num_bytes, without overflow.
bool shape_fits(std::span<const int64_t> shape, DType dtype, size_t num_bytes) {
  auto total = static_cast<int64_t>(size_of(dtype));
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return false;
    if (size == 0) is_empty = true;
    // An empty tensor may claim any other sizes, as long as their product can be told.
    if (__builtin_mul_overflow(total, size == 0 ? 1 : size, &total)) return false;
  }
  return num_bytes == (is_empty ? 0 : static_cast<size_t>(total));
}

}  // namespace

std::optional<std::vector<std::byte>> tensor_header(const TensorView& tensor) {
  if (tensor.shape.size() > kMaxDimensions ||
      !shape_fits(tensor.shape, tensor.dtype, tensor.data.size())) {
    return std::nullopt;
  }
  std::vector<std::byte> header(8 + 8 * tensor.shape.size());
  store_le(header.data(), static_cast<uint32_t>(tensor.shape.size()));
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    store_le(header.data() + 8 + 8 * d, tensor.shape[d]);
  }
  return header;
}

std::optional<TensorView> parse_tensor(DType dtype, std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto num_dimensions = load_le<uint32_t>(bytes.data());
  const size_t header_bytes = 8 + 8 * size_t{num_dimensions};
  if (num_dimensions > kMaxDimensions || bytes.size() < header_bytes) return std::nullopt;
  TensorView view{.dtype = dtype};
  for (uint32_t d = 0; d < num_dimensions; ++d) {
    view.shape.push_back(load_le<int64_t>(bytes.data() + 8 + 8 * size_t{d}));
  }
  view.data = bytes.subspan(header_bytes);
  if (!shape_fits(view.shape, dtype, view.data.size())) return std::nullopt;
  return view;
}

std::optional<std::vector<std::span<const std::byte>>> parse_list(
    std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto num_items = load_le<uint64_t>(bytes.data());
  if (num_items > (bytes.size() - 8) / 8) return std::nullopt;
  uint64_t end = 8 + 8 * num_items;
  std::vector<std::span<const std::byte>> items(num_items);
  for (size_t i = 0; i < num_items; ++i) {
    const uint64_t begin = align8(end);
    end = load_le<uint64_t>(bytes.data() + 8 + 8 * i);
    if (end < begin || end > bytes.size()) return std::nullopt;
    items[i] = bytes.subspan(begin, end - begin);
  }
  if (end != bytes.size()) return std::nullopt;
  return items;
}

void throw_wrong_type(const Field& field, std::string_view wanted) {
  throw error_of(ErrorCode::invalid_argument, "field '{}' is of type {}, not {}", field.name,
                 to_string(field.type), wanted);
}

}  // namespace ffkit
