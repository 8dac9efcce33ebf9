// The bytes of tensor and list fields (FORMAT.md, "Schema").
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ffkit/format/record.h>

namespace ffkit {

// The header of `tensor`'s bytes; nothing when data, shape and dtype do not fit together.
std::optional<std::vector<std::byte>> tensor_header(const TensorView& tensor);
// The tensor in a field's bytes; nothing when they do not hold one.
std::optional<TensorView> parse_tensor(DType dtype, std::span<const std::byte> bytes);
// The items of a list in a field's bytes; nothing when they do not hold one.
std::optional<std::vector<std::span<const std::byte>>> parse_list(std::span<const std::byte> bytes);

[[noreturn]] void throw_wrong_type(const Field& field, std::string_view wanted);

}  // namespace ffkit
