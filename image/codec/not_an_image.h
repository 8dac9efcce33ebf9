// What a file is that is none of the pictures that are read, as an error.
#pragma once

#include <cstddef>
#include <span>

namespace ffkit {

// Error(corrupt) where getting it again helps: it is empty, or went through a transfer as text;
// else Error(unsupported).
[[noreturn]] void throw_not_an_image(std::span<const std::byte> data);

}  // namespace ffkit
