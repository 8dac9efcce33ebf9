#include "file/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "make_error.h"
#include "printable.h"

namespace ffkit {
namespace {

// The disk gets to work when this much was written, not only at fsync.
constexpr int64_t kWriteBackBytes = 8 << 20;

[[noreturn]] void throw_file_error(const char* what, const std::filesystem::path& path, int error) {
  const std::string remedy = remedy_of_errno(error);
  throw io_error_at(path, what, error).with_remedy(remedy.empty() ? "" : remedy + " and run again");
}

// Calls that may be interrupted by a signal, until they are not.
template <typename Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

template <typename Bytes>
Bytes read_whole(const std::filesystem::path& path, int64_t max_bytes) {
  const File file = File::open_for_reading(path);
  const int64_t size = file.size();
  if (size > max_bytes) {
    throw error_at(path, ErrorCode::unsupported,
                   "the file has {} bytes, but a file of this kind has at most {} bytes; copy or "
                   "make the file again",
                   size, max_bytes);
  }
  Bytes bytes;
  errors_only(path, [&] { bytes.resize(static_cast<size_t>(size)); });
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

bool raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int open_descriptor(const std::filesystem::path& path, int flags) {
  const auto attempt = [&] {
    return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC); });
  };
  int fd = attempt();
  if (fd < 0 && errno == EMFILE) {
    if (raise_open_files_limit()) return attempt();
    errno = EMFILE;
  }
  return fd;
}

File File::open_for_reading(std::filesystem::path path) {
  // O_NONBLOCK: a FIFO would be waited for. Where that is refused because of a lease (open(2)), the
  // file is a regular one.
  int fd = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0 && errno == EWOULDBLOCK) {
    fd = open_descriptor(path, O_RDONLY);
  } else if (fd >= 0) {
    ::fcntl(fd, F_SETFL, 0);  // reads of regular files wait; io_uring would not
  }
  if (fd < 0) {
    const int error = errno;
    throw Error(error == ENOENT || error == ENOTDIR ? ErrorCode::not_found : ErrorCode::io,
                "the file cannot be opened",
                {.path = path.string(),
                 .errno_value = error,
                 .remedy = error == EMFILE ? "raise the limit of open files (ulimit -n)" : ""});
  }
  return {std::move(path), fd};
}

File File::create(std::filesystem::path path) {
  require_local(path);
  const int fd = uninterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (fd < 0) throw_file_error("the file cannot be created", path, errno);
  return {std::move(path), fd};
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      written_bytes_(other.written_bytes_),
      unsent_bytes_(other.unsent_bytes_),
      is_broken_(other.is_broken_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(written_bytes_, other.written_bytes_);
  std::swap(unsent_bytes_, other.unsent_bytes_);
  std::swap(is_broken_, other.is_broken_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

int64_t File::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) throw_file_error("the file cannot be examined", path_, errno);
  if (!S_ISREG(status.st_mode)) {
    throw error_at(path_, ErrorCode::invalid_argument, "the path is not a regular file");
  }
  return status.st_size;
}

void File::read_at(int64_t offset, std::span<std::byte> out, int64_t record) const {
  size_t done = 0;
  while (done < out.size()) {
    const int64_t position = offset + static_cast<int64_t>(done);
    const ssize_t n =
        uninterrupted([&] { return ::pread(fd_, out.data() + done, out.size() - done, position); });
    if (n < 0) {
      throw Error(
          ErrorCode::io, "the file cannot be read",
          {.path = path_.string(), .record = record, .offset = position, .errno_value = errno});
    }
    if (n == 0) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("the file was cut off: it ends here, but {} more bytes belong to it; "
                              "copy or convert it again",
                              out.size() - done),
                  {.path = path_.string(), .record = record, .offset = position});
    }
    done += static_cast<size_t>(n);
  }
}

void File::write(std::span<const std::byte> data) {
  require_unbroken();
  while (!data.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd_, data.data(), data.size()); });
    // 0 would be tried for ever.
    if (n <= 0) break_with("cannot write", n < 0 ? errno : EIO);
    data = data.subspan(static_cast<size_t>(n));
    begin_write_back(n);
  }
}

void File::write_at(int64_t offset, std::span<const std::byte> data) {
  require_unbroken();
  while (!data.empty()) {
    const ssize_t n =
        uninterrupted([&] { return ::pwrite(fd_, data.data(), data.size(), offset); });
    if (n <= 0) break_with("cannot write", n < 0 ? errno : EIO);
    data = data.subspan(static_cast<size_t>(n));
    offset += n;
  }
}

void File::begin_write_back(int64_t num_written) {
  unsent_bytes_ += num_written;
  written_bytes_ += num_written;
  if (unsent_bytes_ < kWriteBackBytes) return;
  // A hint: where it fails (no such call on this file system, a disk error), sync() says what there
  // is to say.
  ::sync_file_range(fd_, written_bytes_ - unsent_bytes_, unsent_bytes_, SYNC_FILE_RANGE_WRITE);
  unsent_bytes_ = 0;
}

void File::sync() {
  require_unbroken();
  if (uninterrupted([&] { return ::fsync(fd_); }) == 0 || has_no_fsync(errno)) return;
  break_with("cannot fsync", errno);
}

void File::close() {
  require_unbroken();
  is_broken_ = true;
  // Not again when it is interrupted: Linux has closed it all the same (close(2)).
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR)
    throw_file_error("cannot close", path_, errno);
}

void File::require_unbroken() const {
  if (!is_broken_) return;
  throw error_at(
      path_, ErrorCode::io,
      "cannot continue to write after an earlier error; remove this file and start again");
}

void File::break_with(const char* what, int error) {
  is_broken_ = true;
  throw_file_error(what, path_, error);
}

std::vector<std::byte> read_whole_file(const std::filesystem::path& path, int64_t max_bytes) {
  return read_whole<std::vector<std::byte>>(path, max_bytes);
}

std::string read_whole_text(const std::filesystem::path& path, int64_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

bool has_no_fsync(int error) {
  return error == EINVAL || error == ENOTSUP || error == ENOSYS;
}

void require_local(const std::filesystem::path& path) {
  const std::string& text = path.native();
  const size_t colon = text.find(":/");
  if (colon == std::string::npos || colon == 0) return;
  const std::string scheme = in_lower_case(text.substr(0, colon));
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  if (scheme.find_first_not_of(kLetters) != std::string::npos) return;
  constexpr std::array<std::string_view, 12> kSchemes = {
      "s3", "gs", "az", "r2", "https", "http", "hf", "file", "s3a", "gcs", "abfs", "abfss"};
  const bool is_known = std::ranges::find(kSchemes, scheme) != kSchemes.end();
  if (text.compare(colon, 3, "://") == 0) {
    if (!is_known) {
      throw error_at(path, ErrorCode::unsupported,
                     "this address has an unknown kind; the known kinds are s3, gs, az, r2, https, "
                     "http, hf and file");
    }
    throw error_at(path, ErrorCode::unsupported,
                   "this is an address, but the program can write this output only to a disk of "
                   "this machine; give a path, then copy the output");
  }
  if (!is_known) return;
  throw error_at(path, ErrorCode::invalid_argument,
                 "this address has lost a slash, because it was converted to a path; give the "
                 "address as text: {}:/{}",
                 text.substr(0, colon), text.substr(colon + 1));
}

void refuse_dangling_destination(const std::filesystem::path& path) {
  require_local(path);
  std::filesystem::path part;
  for (const std::filesystem::path& name : path) {
    part /= name;
    std::error_code ignored;
    if (!std::filesystem::is_symlink(part, ignored)) continue;
    const bool is_there = std::filesystem::exists(part, ignored);
    if (is_there || (ignored && ignored != std::errc::too_many_symbolic_link_levels)) continue;
    throw error_at(part, ErrorCode::invalid_argument,
                   "this link points to '{}', which {}; make that folder, or give another folder",
                   std::filesystem::read_symlink(part).string(),
                   ignored ? "leads back to the link" : "does not exist");
  }
}

void require_place_for_file(const std::filesystem::path& path) {
  refuse_dangling_destination(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw error_at(path, ErrorCode::invalid_argument,
                   "the path is a folder; give the name of a file");
  }
  // A device or a pipe would be replaced: of a superuser, /dev/null.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw error_at(
        path, ErrorCode::invalid_argument,
        "the path is not a regular file, so it cannot be replaced; give the name of a file");
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::access((folder / ".").c_str(), W_OK | X_OK) != 0) {
    throw_file_error("the file cannot be created", path, errno);
  }
}

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_file_error(("the file cannot be renamed to " + to.string()).c_str(), from, errno);
  }
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  rename_file(from, to);
  sync_folder_of(to);
}

void sync_folder_of(const std::filesystem::path& file) {
  sync_folder(file.has_parent_path() ? file.parent_path() : std::filesystem::path("."));
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) throw_file_error("cannot open the folder", folder, errno);
  const int result = uninterrupted([&] { return ::fsync(fd); });
  const int error = errno;
  ::close(fd);
  if (result != 0 && !has_no_fsync(error)) {
    throw_file_error("cannot fsync the folder", folder, error);
  }
}

}  // namespace ffkit
