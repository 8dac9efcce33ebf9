#include "report/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace ffkit {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

std::string format_duration(double seconds) {
  const int64_t s = std::llround(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string throughput_text(double units_per_second, const std::string& units, double wait_share) {
  if (units_per_second <= 0) return {};
  return fmt::format("{:.0f} {}/s  data wait {:.1f} %", units_per_second, units, 100 * wait_share);
}

std::string to_string(const ProgressState& s) {
  std::string line = fmt::format("epoch {}/{}  step {}/{}  loss {:.4f}", s.epoch, s.num_epochs,
                                 s.step, s.num_steps, s.loss);
  if (s.units_per_second > 0)
    line += "  " + throughput_text(s.units_per_second, s.units, s.wait_share);
  if (s.seconds_left > 0) line += fmt::format("  {} left", format_duration(s.seconds_left));
  return line;
}

void LiveProgress::update(const ProgressState& state) {
  if (terminal_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  shown_ = true;
  fmt::print(terminal_, "{}{}", kEraseLine, to_string(state));
  std::fflush(terminal_);
}

void LiveProgress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(terminal_, "{}", kEraseLine);
  std::fflush(terminal_);
}

}  // namespace ffkit
