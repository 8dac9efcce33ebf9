// What the bytes of a row's value are, where the files do not say it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "format/content_kind.h"

namespace ffkit {

// Whether `bytes` begin as an encoded picture does, of a kind that is read or one that is refused
// by name.
inline bool begins_as_picture(std::span<const std::byte> bytes) {
  switch (content_kind(bytes.first(std::min(bytes.size(), kContentHeadBytes)))) {
    case ContentKind::jpeg:
    case ContentKind::png:
    case ContentKind::webp:
    case ContentKind::bmp:
    case ContentKind::pnm:
    case ContentKind::gif:
    case ContentKind::tiff:
    case ContentKind::avif:
    case ContentKind::heic:
    case ContentKind::jpeg_2000:
    case ContentKind::jpeg_xl:
      return true;
    default:
      return false;
  }
}

}  // namespace ffkit
