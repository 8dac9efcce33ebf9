#include <fmt/format.h>
#include <unistd.h>

#include <ffkit/converter/progress_bar.h>

#include "base/printable.h"
#include "base/terminal_line.h"

namespace ffkit {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

std::string progress_line(const ConvertProgress& progress, double seconds) {
  std::string line = fmt::format(
      "{} {:3} %  {} of {} {}", progress.split, 100 * progress.num_done / progress.num_samples,
      with_commas(progress.num_done), with_commas(progress.num_samples), progress.records);
  if (progress.num_skipped > 0) line += fmt::format(" ({} skipped)", progress.num_skipped);
  const int64_t num_done = progress.num_done - progress.num_before;
  if (seconds > 0 && num_done > 0) {
    const double rate = static_cast<double>(num_done) / seconds;
    const double left = static_cast<double>(progress.num_samples - progress.num_done) / rate;
    line += fmt::format(
        "  {} {}/s  {} MB/s  {} left", with_commas(static_cast<int64_t>(rate)), progress.records,
        with_commas(static_cast<int64_t>(static_cast<double>(progress.bytes_done) / seconds / 1e6)),
        clock_time(static_cast<int64_t>(left + 0.5)));
  }
  return line;
}

ProgressBar::ProgressBar(int fd, std::chrono::milliseconds log_interval)
    : line_(std::make_unique<TerminalLine>(TerminalLine::fd_of_terminal(fd), kInterval)),
      log_(TerminalLine::fd_of_terminal(fd) < 0 ? fd : -1),
      log_interval_(log_interval) {}

ProgressBar::~ProgressBar() = default;

void ProgressBar::update(const ConvertProgress& progress) {
  const Clock::time_point now = Clock::now();
  if (progress.split != split_) {
    split_ = progress.split;
    split_start_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - split_start_).count();
  if (log_ >= 0 && now - last_logged_ >= log_interval_) {
    last_logged_ = now;
    const std::string text = progress_line(progress, seconds) + "\n";
    // A full disk is no reason to fail.
    [[maybe_unused]] const ssize_t ignored = ::write(log_, text.data(), text.size());
  }
  if (line_->is_due()) line_->draw(progress_line(progress, seconds));
}

void ProgressBar::wipe() {
  line_->wipe();
}

}  // namespace ffkit
