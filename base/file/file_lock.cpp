#include "file/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "file/file.h"
#include "make_error.h"
#include "printable.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = 4096;

// Field 22 of /proc/<pid>/stat, proc(5): clock ticks from the boot to the start. The second field
// may hold spaces and brackets.
std::string begin_of(int64_t pid) {
  const std::string text = small_file(fmt::format("/proc/{}/stat", pid));
  size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

constexpr std::string_view kPrefix = ".ffkit-in-use-";
constexpr std::string_view kSharedPrefix = ".ffkit-in-use-by-";

// The claims in `folder`, by name.
std::vector<fs::path> list_claims(const fs::path& folder) {
  std::vector<fs::path> claims;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (ClaimFile::is_claim(at->path())) claims.push_back(at->path());
  }
  require_done(error, folder, "cannot be listed");
  std::ranges::sort(claims);
  return claims;
}

bool is_shared(const fs::path& claim) {
  return claim.filename().string().starts_with(kSharedPrefix);
}

int64_t number_of(const fs::path& claim) {
  const std::string name = claim.filename().string();
  int64_t number = 0;
  if (!is_shared(claim)) {
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  }
  return number;
}

struct Claims {
  ClaimFile::User user;        // one that keeps the mode away
  std::vector<fs::path> dead;  // of processes of this machine that are no more
  int64_t last_number = 0;     // of exclusive ones
};

Claims look_at(const fs::path& folder, FileLock::Mode mode, const fs::path& own) {
  const Claimant here = this_process();
  Claims claims;
  for (const fs::path& path : list_claims(folder)) {
    claims.last_number = std::max(claims.last_number, number_of(path));
    if (path.filename() == own.filename()) continue;
    const Claimant claimant = parse_claimant(small_file(path));
    // One that has just been made may be empty still: its maker is unknown, and keeps away.
    const ClaimantState state = state_of(claimant, here);
    if (state == ClaimantState::dead) {
      claims.dead.push_back(path);
      continue;
    }
    if (mode == FileLock::Mode::shared && is_shared(path)) continue;
    if (claims.user.is_here || !fs::exists(fs::symlink_status(path))) continue;
    claims.user = {.words = fmt::format("process {} on {} (its file is {})", claimant.pid,
                                        printable(claimant.host), path.string()),
                   .is_here = state == ClaimantState::alive};
  }
  return claims;
}

// Returns false when the name is taken.
bool make_claim(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0 && errno == EEXIST) return false;
  int error = fd < 0 ? errno : 0;
  const std::string text = to_text(this_process());
  errno = 0;
  if (error == 0 && ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    error = errno == 0 ? EIO : errno;
    ::unlink(path.c_str());
  }
  if (fd >= 0) ::close(fd);
  if (error == 0) return true;
  throw io_error_at(path, "the file cannot be created", error);
}

std::string lock_note(int problem) {
  return fmt::format("its file system has no locks ({})", std::strerror(problem));
}

}  // namespace

std::string small_file(const std::filesystem::path& path) {
  std::string text(kMaxBytes, '\0');
  const int fd = open_descriptor(path, O_RDONLY);
  if (fd < 0) return {};
  const ssize_t n = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Claimant this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::array<char, 64> space{};
  if (::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) space[0] = '\0';
  return {.host = host.data(),
          .pid = ::getpid(),
          .boot = small_file("/proc/sys/kernel/random/boot_id"),
          .pid_space = space.data(),
          .begin = begin_of(::getpid())};
}

std::string to_text(const Claimant& c) {
  return fmt::format("host {}\npid {}\nboot {}\npid-space {}\nbegin {}\n", c.host, c.pid, c.boot,
                     c.pid_space, c.begin);
}

Claimant parse_claimant(std::string_view text) {
  Claimant c;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, space);
    const std::string value(line.substr(std::min(line.size(), space + 1)));
    if (key == "host") c.host = value;
    if (key == "pid") std::from_chars(value.data(), value.data() + value.size(), c.pid);
    if (key == "boot") c.boot = value;
    if (key == "pid-space") c.pid_space = value;
    if (key == "begin") c.begin = value;
  }
  return c;
}

bool is_running(int64_t pid) {
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  // "123 (name) S ...", proc(5)
  const std::string text = small_file(fmt::format("/proc/{}/stat", pid));
  const size_t state = text.rfind(") ");
  return state == std::string::npos ||
         (text.compare(state, 3, ") Z") != 0 && text.compare(state, 3, ") X") != 0);
}

ClaimantState state_of(const Claimant& c, const Claimant& here) {
  if (c.pid <= 0 || c.host != here.host || c.boot.empty() || here.boot.empty()) {
    return ClaimantState::unknown;
  }
  if (c.boot != here.boot) return ClaimantState::dead;  // the machine was started again
  if (c.pid_space != here.pid_space) return ClaimantState::unknown;  // in another container
  if (!is_running(c.pid)) return ClaimantState::dead;
  const std::string begin = begin_of(c.pid);
  return !begin.empty() && begin != c.begin ? ClaimantState::dead : ClaimantState::alive;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

int FileLock::try_lock(Mode mode) {
  return ::flock(fd_, (mode == Mode::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 ? 0 : errno;
}

bool is_open_file_at(const std::filesystem::path& path, int fd) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

bool lock_bytes(int fd, int64_t offset, int64_t num_bytes, short type, bool wait) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = num_bytes;
  int result = 0;
  do {
    result = ::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void FileLock::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

ClaimFile::ClaimFile(ClaimFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ClaimFile& ClaimFile::operator=(ClaimFile&& other) noexcept {
  if (this == &other) return *this;
  release();
  path_ = std::exchange(other.path_, {});
  return *this;
}

ClaimFile::User ClaimFile::claim(const fs::path& folder, FileLock::Mode mode) {
  release();
  const bool is_exclusive = mode == FileLock::Mode::exclusive;
  static std::atomic<int64_t> count = 0;
  while (!is_held()) {
    const Claims before = look_at(folder, mode, {});
    if (before.user.is_anybody()) return before.user;
    const std::string name = is_exclusive
                                 ? fmt::format("{}{}", kPrefix, before.last_number + 1)
                                 : fmt::format("{}{}-{}-{}", kSharedPrefix, this_process().host,
                                               ::getpid(), count.fetch_add(1));
    if (make_claim(folder / name)) path_ = folder / name;
  }
  Claims after;
  try {
    after = look_at(folder, mode, path_);
  } catch (...) {
    release();
    throw;
  }
  if (after.user.is_anybody()) {
    release();
    return after.user;
  }
  for (const fs::path& dead : after.dead) ::unlink(dead.c_str());
  return {};
}

void ClaimFile::release() noexcept {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

ClaimFile::User ClaimFile::user_of(const fs::path& folder, FileLock::Mode mode,
                                   const fs::path& own) {
  return look_at(folder, mode, own).user;
}

bool ClaimFile::is_claim(const fs::path& file) {
  return file.filename().string().starts_with(kPrefix);
}

std::string in_use_by(const ClaimFile::User& user, const char* otherwise) {
  return user.is_anybody() ? user.words : otherwise;
}

const char* remedy_for(const ClaimFile::User& user) {
  return user.is_anybody() && !user.is_here ? ", or remove that file if the process has ended" : "";
}

FolderHold hold_folder(const fs::path& folder, FileLock::Mode mode, FileLock& lock,
                       ClaimFile& claim) {
  const int problem = lock.try_lock(mode);
  if (problem == EWOULDBLOCK) return {};
  if (problem == 0) {
    FolderHold hold{.user = ClaimFile::user_of(folder, mode)};
    hold.is_taken = !hold.user.is_anybody();
    return hold;
  }
  try {
    ClaimFile::User user = claim.claim(folder, mode);
    if (user.is_anybody()) return {.user = std::move(user)};
  } catch (const Error&) {
    if (mode == FileLock::Mode::exclusive) throw;
    return {.is_taken = true,
            .note = lock_note(problem) +
                    ", and nothing can be written to the folder; make sure that no program changes "
                    "it meanwhile"};
  }
  return {.is_taken = true,
          .note = fmt::format("{}; the file '{}' in the folder keeps other programs away",
                              lock_note(problem), claim.path().filename().string())};
}

}  // namespace ffkit
