#include "file/claim_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "file/claimant.h"
#include "file/file.h"
#include "make_error.h"
#include "printable.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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
  throw io_error_at(path, "cannot be created", error);
}

std::string lock_note(int problem) {
  return fmt::format("its file system has no locks ({})", std::strerror(problem));
}

}  // namespace

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
  return user.is_anybody() && !user.is_here ? ", or remove that file when the process is gone" : "";
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
                    " and nothing can be written to it; see to it that nobody "
                    "changes it meanwhile"};
  }
  return {.is_taken = true,
          .note = fmt::format("{}; the file '{}' in it keeps others away", lock_note(problem),
                              claim.path().filename().string())};
}

}  // namespace ffkit
