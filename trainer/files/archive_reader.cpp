#include "files/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr int64_t kMostDeflated = 1032;  // bytes that deflate makes of one

struct ArchiveFile {
  const File& file;
  ArchiveForm form;
  const char* kind() const { return form == ArchiveForm::zip ? "zip" : "tar"; }
};

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

[[noreturn]] void throw_archive_error(const ArchiveFile& file, const std::string& reason) {
  throw error_at(file.file.path(), ErrorCode::corrupt,
                 "cannot be read as a {}: {}; the file is damaged or cut off", file.kind(), reason);
}

[[noreturn]] void throw_archive_error(const ArchiveFile& file, const Archive& archive) {
  const char* reason = archive_error_string(archive.get());
  throw_archive_error(file, reason != nullptr ? reason : "its structure is broken");
}

// Whether the warning is about a CRC-32 that was never written. What was read is right then, as far
// as anybody can tell.
bool lacks_crc(const Archive& archive) {
  const char* reason = archive_error_string(archive.get());
  const std::string_view text = reason != nullptr ? reason : "";
  return text.starts_with("ZIP bad CRC") && text.ends_with("should be 0x0");
}

// As archive_read_data(), past such a warning.
la_ssize_t read_some(const ArchiveFile& file, const Archive& archive, void* out, size_t size) {
  la_ssize_t n = archive_read_data(archive.get(), out, size);
  if (n == ARCHIVE_WARN && lacks_crc(archive)) n = archive_read_data(archive.get(), out, size);
  if (n < 0) throw_archive_error(file, archive);
  return n;
}

void read_contents(const ArchiveFile& file, const Archive& archive, std::span<std::byte> out) {
  while (!out.empty()) {
    const la_ssize_t n = read_some(file, archive, out.data(), out.size());
    if (n == 0)
      throw_archive_error(file, fmt::format("a file in it ends {} bytes early", out.size()));
    out = out.subspan(n);
  }
  // The CRC-32 is compared at the end of the contents.
  std::byte none{};
  if (read_some(file, archive, &none, 1) > 0)
    throw_archive_error(file, "a file in it is longer than it says");
}

bool is_deflated(const Archive& archive) {
  const char* format = archive_format_name(archive.get());
  return format != nullptr && std::string_view(format).find("deflation") != std::string_view::npos;
}

}  // namespace

void read_archive(const File& opened, ArchiveForm form,
                  const std::function<std::span<std::byte>(const std::string&, int64_t)>& target) {
  const ArchiveFile file{opened, form};
  const Archive archive(archive_read_new(), archive_read_free);
  if (form == ArchiveForm::tar) {
    archive_read_support_format_tar(archive.get());
  } else {
    // Not the streaming reader: it takes a file without its directory, that is, a cut one.
    archive_read_support_format_zip_seekable(archive.get());
  }
  ::lseek(opened.fd(), 0, SEEK_SET);  // where the archive before it has left it
  if (archive_read_open_fd(archive.get(), opened.fd(), kBlockBytes) != ARCHIVE_OK)
    throw_archive_error(file, archive);
  int64_t num_left = opened.size();
  for (bool may_be_deflated = false;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive.get(), &entry);
    if (result == ARCHIVE_EOF) return;
    if (result != ARCHIVE_OK) throw_archive_error(file, archive);
    if (!may_be_deflated && is_deflated(archive)) {
      may_be_deflated = true;
      if (__builtin_mul_overflow(num_left, kMostDeflated, &num_left)) num_left = INT64_MAX;
    }
    const char* name = archive_entry_pathname(entry);
    const int64_t num_bytes = archive_entry_size(entry);
    if (name == nullptr || num_bytes < 0)
      throw_archive_error(file, "a file in it lacks its name or length");
    if (num_bytes > num_left) {
      throw_archive_error(file, fmt::format("'{}' is said to have {} bytes, more than there can be",
                                            name, num_bytes));
    }
    num_left -= num_bytes;
    const std::span<std::byte> out = target(name, num_bytes);
    if (!out.empty()) read_contents(file, archive, out);
  }
}

}  // namespace ffkit
