#include "files/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "converter/input/source_error.h"
#include "storage/stores/object_store.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

// -1 with errno.
int open_without_name(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // Some file systems (NFS, overlays) have no such files.
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = (folder / ".ffkit-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

fs::path nearest_folder(fs::path folder) {
  if (folder.empty() || is_address(folder)) return {};
  folder = fs::absolute(folder);
  std::error_code ignored;
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

File make_file(fs::path folder) {
  int fd = folder.empty() ? -1 : open_without_name(folder);
  if (fd < 0) {
    std::error_code ignored;
    folder = fs::temp_directory_path(ignored);
    if (folder.empty()) folder = "/tmp";
    fd = open_without_name(folder);
  }
  if (fd < 0) {
    throw source_io_error(
        folder,
        "a temporary file for decompressed data cannot be made; give another folder with "
        "TMPDIR",
        errno);
  }
  return File::adopt(fd, std::move(folder));
}

}  // namespace

Spool::Spool(const fs::path& folder) : file_(make_file(nearest_folder(folder))) {}

void Spool::append(std::span<const std::byte> bytes) {
  try {
    file_.write_at(size_, bytes);
  } catch (const Error& error) {
    const int code = error.context().errno_value;
    const bool is_full = code == ENOSPC || code == EDQUOT;
    throw error
        .with_message(fmt::format("a temporary file with {} MB of decompressed data cannot grow",
                                  size_ / 1'000'000))
        .with_remedy(is_full ? "free some space there, or decompress the files beforehand" : "");
  }
  size_ += std::ssize(bytes);
}

}  // namespace ffkit
