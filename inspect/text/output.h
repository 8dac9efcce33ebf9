// What ffinspect writes to a terminal: JSON, sizes, bars, texts that are safe there, and how far it
// is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/terminal_line.h"

namespace ffkit {

using Json = nlohmann::ordered_json;

// One document, indented, and a line end. Text that is not UTF-8 gets replacement characters.
void print_json(const Json& document);
// One line of JSON Lines.
void print_json_line(const Json& value);
std::string json_text(const Json& value, int indent = -1);

bool stdout_is_terminal();

// "17 B", "1.7 kB", "107.8 MB".
std::string human_bytes(int64_t bytes);
// `text` on one line: tabs, line ends, other control characters and backslashes as \t, \n, \x1b,
// \\.
std::string escaped(std::string_view text);

// A bar for `count` where the largest is `largest`: "#####", at least "#" unless the count is 0.
std::string bar(int64_t count, int64_t largest, int width = 40);

// One line on standard error that shows how far a long reading is; silent unless that is a
// terminal.
class ProgressLine {
 public:
  // `what` begins the line; so many bytes, or of what `unit` names ("records"), are to be done. The
  // destructor wipes the line.
  ProgressLine(std::string what, int64_t total, std::string unit = "");
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // So many more are done. Thread-safe; draws a few times a second.
  void add(int64_t count);

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  std::string text_of(int64_t count) const;

  std::string what_;
  std::string unit_;  // empty: bytes
  int64_t total_;
  Clock::time_point start_;
  std::atomic<int64_t> done_ = 0;
  std::mutex mutex_;  // of what follows
  TerminalLine line_;
};

}  // namespace ffkit
