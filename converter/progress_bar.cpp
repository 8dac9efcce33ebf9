#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ffkit/converter/progress_bar.h>

#include "format/with_commas.h"

namespace ffkit {
namespace {

std::string clock_time(int64_t seconds) {
  const int64_t minutes = seconds / 60;
  return minutes < 60 ? fmt::format("{}:{:02}", minutes, seconds % 60)
                      : fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60);
}

void write_text(int fd, const std::string& text) {
  // A terminal that has gone away is no reason to fail.
  [[maybe_unused]] const ssize_t ignored = ::write(fd, text.data(), text.size());
}

size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_line(const ConvertProgress& progress, double seconds) {
  std::string line = fmt::format("{} {:3} %  {} of {} images", progress.split,
                                 100 * progress.num_done / progress.num_samples,
                                 with_commas(progress.num_done), with_commas(progress.num_samples));
  if (progress.num_skipped > 0) line += fmt::format(" ({} skipped)", progress.num_skipped);
  const int64_t num_done = progress.num_done - progress.num_before;
  if (seconds > 0 && num_done > 0) {
    const double rate = static_cast<double>(num_done) / seconds;
    const double left = static_cast<double>(progress.num_samples - progress.num_done) / rate;
    line += fmt::format(
        "  {} images/s  {} MB/s  {} left", with_commas(static_cast<int64_t>(rate)),
        with_commas(static_cast<int64_t>(static_cast<double>(progress.bytes_done) / seconds / 1e6)),
        clock_time(static_cast<int64_t>(left + 0.5)));
  }
  return line;
}

ProgressBar::ProgressBar(int fd) : fd_(fd), is_terminal_(::isatty(fd) == 1) {}

ProgressBar::~ProgressBar() {
  wipe();
}

void ProgressBar::update(const ConvertProgress& progress) {
  if (!is_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (progress.split != split_) {
    split_ = progress.split;
    split_start_ = now;
  }
  if (is_drawn_ && now - last_drawn_ < std::chrono::milliseconds(200)) return;
  last_drawn_ = now;
  is_drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - split_start_).count();
  // Cut to the width: a line that wraps cannot be drawn over.
  write_text(fd_, "\r\033[K" + progress_line(progress, seconds).substr(0, terminal_width(fd_) - 1));
}

void ProgressBar::wipe() {
  if (is_drawn_) write_text(fd_, "\r\033[K");
  is_drawn_ = false;
}

}  // namespace ffkit
