#include "mat_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// "MAT-File Format", 1-6 .. 1-9: a header of 128 bytes, then elements of {u32 type, u32 length, data}.
constexpr size_t kHeaderBytes = 128;
constexpr size_t kTagBytes = 8;
constexpr uint32_t kMatrix = 14;
constexpr uint32_t kCompressed = 15;
constexpr size_t kMaxBytes = 256 << 20;

struct Tag {
  uint32_t type = 0;
  uint32_t length = 0;
};

[[noreturn]] void bad_file(const std::string& origin, const std::string& message) {
  throw Error(ErrorCode::corrupt, message + "; get it again", {.path = origin});
}

Tag read_tag(std::span<const std::byte> bytes) {
  Tag tag;
  std::memcpy(&tag.type, bytes.data(), sizeof(tag.type));
  std::memcpy(&tag.length, bytes.data() + sizeof(tag.type), sizeof(tag.length));
  return tag;
}

void append_expanded(std::span<const std::byte> data, std::vector<std::byte>& out,
                     const std::string& origin) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  std::array<std::byte, 1 << 16> chunk;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= kMaxBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = chunk.size();
    status = inflate(&stream, Z_NO_FLUSH);
    out.insert(out.end(), chunk.begin(), chunk.end() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > kMaxBytes) {
    throw Error(ErrorCode::unsupported,
                fmt::format("expands to more than the {} bytes it may have", kMaxBytes),
                {.path = origin});
  }
  if (status != Z_STREAM_END) bad_file(origin, "has damaged compressed data");
}

}  // namespace

std::vector<std::byte> expand_mat_file(std::span<const std::byte> bytes,
                                       const std::string& origin) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // "IM": the mark of a little-endian file.
  if (!text.starts_with("MATLAB 5.0 MAT-file") || text.size() < kHeaderBytes ||
      text.substr(kHeaderBytes - 2, 2) != "IM") {
    bad_file(origin, "is not a MATLAB level 5 file");
  }
  std::vector<std::byte> out(bytes.begin(), bytes.begin() + kHeaderBytes);
  std::span<const std::byte> rest = bytes.subspan(kHeaderBytes);
  while (!rest.empty()) {
    if (rest.size() < kTagBytes || rest.size() - kTagBytes < read_tag(rest).length) {
      bad_file(origin, fmt::format("is cut short at {} bytes", bytes.size()));
    }
    const Tag tag = read_tag(rest);
    const size_t start = out.size();
    if (tag.type == kCompressed) {
      append_expanded(rest.subspan(kTagBytes, tag.length), out, origin);
    } else {
      out.insert(out.end(), rest.begin(), rest.begin() + kTagBytes + tag.length);
    }
    const std::span<const std::byte> element = std::span(out).subspan(start);
    if (element.size() < kTagBytes || read_tag(element).type != kMatrix ||
        read_tag(element).length != element.size() - kTagBytes) {
      bad_file(origin, "holds something else than variables");
    }
    rest = rest.subspan(kTagBytes + tag.length);
  }
  return out;
}

}  // namespace ffkit
