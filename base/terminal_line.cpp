#include "terminal_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string_view>

namespace ffkit {
namespace {

constexpr std::string_view kEraseLine = "\r\033[K";

void write_text(int fd, std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(fd, text.data(), text.size());
}

// In characters; what is no terminal has no limit.
size_t width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::string::npos;
  return size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

int TerminalLine::fd_of_terminal(int fd) {
  return ::isatty(fd) == 1 ? fd : -1;
}

bool TerminalLine::is_due() const {
  return fd_ >= 0 && (!is_drawn_ || Clock::now() - last_drawn_ >= interval_);
}

void TerminalLine::draw(const std::string& text) {
  if (fd_ < 0) return;
  last_drawn_ = Clock::now();
  is_drawn_ = true;
  write_text(fd_, std::string(kEraseLine) + text.substr(0, width_of(fd_) - 1));
}

void TerminalLine::wipe() noexcept {
  if (is_drawn_) write_text(fd_, kEraseLine);
  is_drawn_ = false;
}

}  // namespace ffkit
