#include "files/zip_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>

#include <ffkit/format/error.h>

#include "format/file/file.h"

namespace ffkit {
namespace {

constexpr size_t kBlockBytes = 1 << 20;

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

[[noreturn]] void throw_zip_error(const File& file, const std::string& reason) {
  throw Error(ErrorCode::corrupt,
              "cannot be read as a zip: " + reason + "; the file is damaged or cut off",
              {.path = file.path().string()});
}

[[noreturn]] void throw_zip_error(const File& file, const Archive& zip) {
  const char* reason = archive_error_string(zip.get());
  throw_zip_error(file, reason != nullptr ? reason : "its structure is broken");
}

void read_contents(const File& file, const Archive& zip, std::span<std::byte> out) {
  while (!out.empty()) {
    const la_ssize_t n = archive_read_data(zip.get(), out.data(), out.size());
    if (n < 0) throw_zip_error(file, zip);
    if (n == 0) throw_zip_error(file, fmt::format("a file in it ends {} bytes early", out.size()));
    out = out.subspan(static_cast<size_t>(n));
  }
  // The CRC-32 is compared at the end of the contents.
  std::byte none{};
  const la_ssize_t n = archive_read_data(zip.get(), &none, 1);
  if (n < 0) throw_zip_error(file, zip);
  if (n > 0) throw_zip_error(file, "a file in it is longer than it says");
}

}  // namespace

void read_zip(const std::filesystem::path& path,
              const std::function<std::span<std::byte>(const std::string&, int64_t)>& target) {
  const File file = File::open_for_reading(path);
  const Archive zip(archive_read_new(), archive_read_free);
  // Not the streaming reader: it takes a file without its directory, that is, a cut one.
  archive_read_support_format_zip_seekable(zip.get());
  if (archive_read_open_fd(zip.get(), file.fd(), kBlockBytes) != ARCHIVE_OK)
    throw_zip_error(file, zip);
  int64_t num_left = file.size();
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(zip.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    if (result != ARCHIVE_OK) throw_zip_error(file, zip);
    const char* name = archive_entry_pathname(entry);
    const int64_t num_bytes = archive_entry_size(entry);
    if (name == nullptr || num_bytes < 0)
      throw_zip_error(file, "a file in it lacks its name or length");
    if (num_bytes > num_left) {
      throw_zip_error(
          file, fmt::format("'{}' is said to have {} bytes, more than there are (compressed files "
                            "are not read)",
                            name, num_bytes));
    }
    num_left -= num_bytes;
    const std::span<std::byte> out = target(name, num_bytes);
    if (!out.empty()) read_contents(file, zip, out);
  }
}

}  // namespace ffkit
