// How the readers of formats get at a file's bytes: by a function, so that they know neither files
// nor what these are decompressed to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace ffkit {

// Reads exactly out.size() bytes at an offset.
using ReadBytes = std::function<void(int64_t offset, std::span<std::byte> out)>;

}  // namespace ffkit
