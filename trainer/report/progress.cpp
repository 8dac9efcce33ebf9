#include "report/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "base/printable.h"

namespace ffkit {

void ThroughputMeter::add_step(double num_units, double seconds, double wait_seconds) {
  if (++num_steps_ <= kWarmupSteps) return;
  num_units_ += num_units;
  seconds_ += seconds;
  wait_seconds_ += wait_seconds;
}

double ThroughputMeter::units_per_second() const {
  return seconds_ > 0 ? num_units_ / seconds_ : 0;
}

double ThroughputMeter::wait_share() const {
  return seconds_ > 0 ? wait_seconds_ / seconds_ : 0;
}

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

// "  loss 1.4321  382 images/s  data wait 0.3 %  1:23 left"
std::string rest_of_line(const ProgressState& s) {
  std::string line = fmt::format("  loss {:.4f}", s.loss);
  if (s.units_per_second > 0)
    line += "  " + throughput_text(s.units_per_second, s.units, s.wait_share);
  if (s.seconds_left > 0) line += fmt::format("  {} left", format_duration(s.seconds_left));
  return line;
}

}  // namespace

std::string format_duration(double seconds) {
  return clock_time(std::llround(seconds));
}

std::string throughput_text(double units_per_second, const std::string& units, double wait_share) {
  if (units_per_second <= 0) return {};
  return fmt::format("{:.0f} {}/s  data wait {:.1f} %", units_per_second, units, 100 * wait_share);
}

std::string to_string(const ProgressState& s) {
  return fmt::format("epoch {}/{}  step {}/{}{}", s.epoch, s.num_epochs, s.step, s.num_steps,
                     rest_of_line(s));
}

std::string log_line(const ProgressState& s) {
  return fmt::format("step {}/{} of epoch {}/{}{}", s.step, s.num_steps, s.epoch, s.num_epochs,
                     rest_of_line(s));
}

LiveProgress::LiveProgress(std::FILE* terminal)
    : terminal_(terminal), line_(terminal == nullptr ? -1 : ::fileno(terminal), kInterval) {}

void LiveProgress::update(const ProgressState& state) {
  if (!line_.is_due()) return;
  std::fflush(terminal_);  // what was printed before stands before the line
  line_.draw(to_string(state));
}

}  // namespace ffkit
