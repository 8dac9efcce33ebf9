#include "dct/jpeg_tail.h"

namespace ffkit {

std::optional<DctRefusal> refuse_tail(std::span<const std::byte> tail) {
  const auto byte_at = [tail](size_t i) { return std::to_integer<size_t>(tail[i]); };
  for (size_t i = 0; i + 1 < tail.size();) {
    const size_t marker = byte_at(i + 1);
    // As libjpeg looks for the next marker: what is none is skipped, and any number of FF may stand
    // before one (T.81, B.1.1.2).
    if (byte_at(i) != 0xFF || marker == 0xFF) {
      ++i;
      continue;
    }
    if (marker == 0xD9) return std::nullopt;
    if (marker == 0xDA) return DctRefusal::several_scans;
    const bool stands_alone = marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (stands_alone) {
      i += 2;
    } else if (i + 4 <= tail.size()) {
      i += 2 + (byte_at(i + 2) << 8) + byte_at(i + 3);
    } else {
      break;
    }
  }
  return DctRefusal::damaged;
}

}  // namespace ffkit
