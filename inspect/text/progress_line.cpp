#include "text/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/readable_numbers.h"
#include "text/output.h"

namespace ffkit {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

ProgressLine::ProgressLine(std::string what, int64_t total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      start_(Clock::now()),
      line_(TerminalLine::fd_of_terminal(STDERR_FILENO), kInterval) {
  if (line_.is_due()) draw();
}

void ProgressLine::add(int64_t count) {
  done_ += count;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is drawing
  if (line_.is_due()) draw();
}

std::string ProgressLine::text_of(int64_t count) const {
  return unit_.empty() ? human_bytes(count) : with_commas(count) + " " + unit_;
}

void ProgressLine::draw() {
  const auto done = static_cast<double>(done_);
  const double share = std::min(1.0, done / static_cast<double>(std::max<int64_t>(1, total_)));
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string line =
      fmt::format("{}  {:3.0f} %  {} of {}", what_, 100 * share,
                  unit_.empty() ? human_bytes(done_) : with_commas(done_), text_of(total_));
  if (seconds > 1 && share > 0) {
    const auto left = static_cast<int64_t>(seconds * (1 - share) / share);
    line += fmt::format("  {}/s  {}:{:02} left", text_of(static_cast<int64_t>(done / seconds)),
                        left / 60, left % 60);
  }
  line_.draw(line);
}

}  // namespace ffkit
