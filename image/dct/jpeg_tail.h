// What stands behind the only scan of a JPEG. No pixel depends on it; the dct code keeps it as it
// is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <ffkit/image/dct_picture.h>

namespace ffkit {

// Why a picture with this behind its scan has no dct code; nothing when an end of image comes, be
// it behind fill bytes, comments or other segments.
std::optional<DctRefusal> refuse_tail(std::span<const std::byte> tail);

}  // namespace ffkit
