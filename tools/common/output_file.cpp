#include "tools/common/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file/file.h"
#include "base/make_error.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

void write_in_place(const fs::path& path, std::span<const std::byte> data) {
  const int fd = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) fail_writing(path, errno);
  const int problem = write_and_close(fd, data);
  if (problem != 0) fail_writing(path, problem);
}

// Gives the new file the mode, and where that is allowed the owner, of the one that it replaces.
void copy_owner_and_mode(int fd, const struct stat& old) {
  // Giving a file away is root's alone; a mode without it is still right.
  if (fchown(fd, old.st_uid, old.st_gid) != 0) errno = 0;
  if (fchmod(fd, old.st_mode & 07777) != 0) errno = 0;
}

}  // namespace

int write_and_close(int fd, std::span<const std::byte> data) {
  int problem = 0;
  while (!data.empty() && problem == 0) {
    const ssize_t written = write(fd, data.data(), data.size());
    if (written > 0) {
      data = data.subspan(written);
    } else if (written == 0) {
      problem = EIO;
    } else if (errno != EINTR) {
      problem = errno;
    }
  }
  if (close(fd) != 0 && problem == 0 && errno != EINTR) problem = errno;
  return problem;
}

void fail_writing(const fs::path& file, int error) {
  std::string remedy = remedy_of_errno(error);
  if (!remedy.empty() && error != EFBIG) remedy += " or give another file";
  throw io_error_at(file, "cannot write the file", error).with_remedy(remedy);
}

void write_output_file(const fs::path& file, std::span<const std::byte> data) {
  require_local(file);
  struct stat old {};
  const bool exists = stat(file.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) throw io_error_at(file, "the file cannot be created", errno);
  if (exists && S_ISDIR(old.st_mode)) {
    throw error_at(file, ErrorCode::invalid_argument, "is a folder; give the name of a file");
  }
  // /dev/stdout may lead to a regular file, which is the shell's.
  const std::string text = file.lexically_normal().string();
  if (exists &&
      (!S_ISREG(old.st_mode) || text.starts_with("/dev/") || text.starts_with("/proc/"))) {
    return write_in_place(file, data);
  }
  // Also for root, who could: somebody protected it.
  if (exists && (access(file.c_str(), W_OK) != 0 || (old.st_mode & 0222) == 0)) {
    throw io_error_at(file, "is read-only; give another file, or make this one writable", EACCES);
  }
  const fs::path target = exists ? fs::canonical(file) : file;
  const fs::path temporary =
      target.parent_path() / fmt::format(".{}.{}.tmp", "ffkit-output", getpid());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) {
    if (exists) return write_in_place(file, data);
    throw io_error_at(file, "the file cannot be created", errno);
  }
  if (exists) copy_owner_and_mode(fd, old);
  const int problem = write_and_close(fd, data);
  if (problem != 0) {
    unlink(temporary.c_str());
    fail_writing(file, problem);
  }
  if (std::rename(temporary.c_str(), target.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary.c_str());
  if (exists && error == EBUSY) return write_in_place(file, data);  // a mount point
  fail_writing(file, error);
}

void write_output(const std::string& file, std::span<const std::byte> data) {
  if (!file.empty()) {
    write_output_file(file, data);
  } else if (std::fwrite(data.data(), 1, data.size(), stdout) != data.size()) {
    throw Error(ErrorCode::io, "cannot write to standard output", {.errno_value = errno});
  }
}

void write_output(const std::string& file, std::string_view text) {
  write_output(file, std::as_bytes(std::span(text)));
}

void require_no_input(const fs::path& output, const std::vector<fs::path>& inputs) {
  if (output.empty()) return;
  require_local(output);
  for (const fs::path& input : inputs) {
    std::error_code different;
    if (!fs::equivalent(output, input, different) || different) continue;
    throw error_at(output, ErrorCode::invalid_argument,
                   "is the output, but it is also the input {}; give another file", input.string());
  }
}

}  // namespace ffkit
