#include "file/claimant.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "file/file.h"

namespace ffkit {
namespace {

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

ClaimantState state_of(const Claimant& c, const Claimant& here) {
  if (c.pid <= 0 || c.host != here.host || c.boot.empty() || here.boot.empty()) {
    return ClaimantState::unknown;
  }
  if (c.boot != here.boot) return ClaimantState::dead;  // the machine was started again
  if (c.pid_space != here.pid_space) return ClaimantState::unknown;  // in another container
  if (::kill(static_cast<pid_t>(c.pid), 0) != 0 && errno == ESRCH) return ClaimantState::dead;
  const std::string begin = begin_of(c.pid);
  return !begin.empty() && begin != c.begin ? ClaimantState::dead : ClaimantState::alive;
}

}  // namespace ffkit
