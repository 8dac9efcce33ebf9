#include "input/dangling_link.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "base/make_error.h"
#include "storage/addresses/place.h"

namespace ffkit {

std::string dangling_link(const std::filesystem::path& path) {
  if (Place(path).is_in_store()) return {};  // stores have no links
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
  if (::stat(path.c_str(), &status) == 0) return {};
  const int error = errno;
  if (error != ENOENT && error != ENOTDIR && error != ELOOP) return {};
  std::error_code ignored;
  const std::string target = std::filesystem::read_symlink(path, ignored).string();
  if (error == ELOOP) {
    return fmt::format("is a link to '{}', which leads back to it; take it away", target);
  }
  return fmt::format(
      "is a link to '{}', which is not there; bring that back, or take the link away", target);
}

void refuse_dangling_link(const std::filesystem::path& path) {
  const std::string fault = dangling_link(path);
  if (!fault.empty()) throw error_at(path, ErrorCode::not_found, fault);
}

}  // namespace ffkit
