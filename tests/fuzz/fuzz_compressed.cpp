// A compressed stream of any bytes, of the kind that its first ones say: read to its end, at most
// 16 MiB of it, in one piece and in small ones. Not of xz, whose few bytes may honestly ask for a
// dictionary of 1 GiB; zstd's window is kept to 128 MiB for the same reason.
#include <sys/mman.h>
#include <unistd.h>

#include "converter/input/input_file.h"
#include "format/content_kind.h"
#include "sources/archives/compressed_stream.h"
#include "touch.h"

namespace {

constexpr size_t kMostBytes = 16 << 20;
constexpr int kLargestWindowLog = 27;

std::vector<std::byte> read_all(const ffkit::InputFile& file, ffkit::ContentKind kind,
                                size_t piece) {
  std::vector<std::byte> all;
  ffkit::fuzzing::attempt([&] {
    ffkit::CompressedStream stream(file, kind, kLargestWindowLog);
    std::vector<std::byte> some(piece);
    for (size_t n = piece; n == piece && all.size() < kMostBytes;) {
      n = stream.read(some);
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    }
  });
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const ffkit::ContentKind kind = ffkit::content_kind(bytes);
  if (!ffkit::CompressedStream::takes(kind) || kind == ffkit::ContentKind::xz) return 0;
  static const int fd = ::memfd_create("fuzz", 0);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  const ffkit::InputFile file("/proc/self/fd/" + std::to_string(fd));
  const std::vector<std::byte> whole = read_all(file, kind, kMostBytes);
  const std::vector<std::byte> pieces = read_all(file, kind, 999);
  // What was read before damage was found depends on the pieces.
  const size_t common = std::min(whole.size(), pieces.size());
  if (!std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(common),
                  pieces.begin())) {
    std::abort();
  }
  return 0;
}
