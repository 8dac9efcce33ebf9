#include "nuscenes/png_check.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/big_endian.h"
#include "converter/input/input_file.h"

namespace ffkit::nuscenes {
namespace {

constexpr int64_t kMaxBytes = 1LL << 30;
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";

}  // namespace

std::string problem_of_png(const std::filesystem::path& path) {
  const std::vector<std::byte> file = read_source_bytes(path, kMaxBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kSignature)) return "is no PNG";
  std::span<const std::byte> rest = std::span(file).subspan(kSignature.size());
  constexpr size_t kAround = 12;  // length, type and CRC of a chunk
  while (true) {
    const size_t offset = file.size() - rest.size();
    if (rest.size() < kAround || load_be_u32(rest.data()) > rest.size() - kAround) {
      return fmt::format("is a PNG that was cut: it ends in the chunk at byte {}", offset);
    }
    const size_t length = load_be_u32(rest.data());
    const std::span<const std::byte> checked = rest.subspan(4, length + 4);
    const uLong crc =
        crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    if (crc != load_be_u32(rest.data() + 8 + length)) {
      return fmt::format("is a damaged PNG: the CRC of the chunk at byte {} is wrong", offset);
    }
    if (text.substr(offset + 4, 4) == "IEND") return "";
    rest = rest.subspan(length + kAround);
  }
}

}  // namespace ffkit::nuscenes
