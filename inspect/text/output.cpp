#include "text/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "tools/common/output_file.h"

namespace ffkit {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

}  // namespace

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_json(const Json& document) {
  write_output("", json_text(document, 2));
}

void print_json_line(const Json& value) {
  write_output("", json_text(value));
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\t') {
      result += "\\t";
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\\') {
      result += "\\\\";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string bar(int64_t count, int64_t largest, int width) {
  if (count <= 0 || largest <= 0) return "";
  const double share = static_cast<double>(count) / static_cast<double>(largest);
  return std::string(std::max(1.0, std::round(share * width)), '#');
}

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
