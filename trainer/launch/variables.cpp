#include "launch/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include <ffkit/base/error.h>

namespace ffkit {

void refuse_launch(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

std::optional<std::string> Variables::text(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    if (std::optional<std::string> value = environment_(name); value && !value->empty())
      return value;
  }
  return std::nullopt;
}

std::string Variables::required_text(std::initializer_list<const char*> names) const {
  if (std::optional<std::string> value = text(names)) return *value;
  missing(names);
}

std::optional<int64_t> Variables::number(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    const std::optional<std::string> value = environment_(name);
    if (!value || value->empty()) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error == std::errc::invalid_argument || end != value->data() + value->size() ||
        number < 0) {
      refuse_launch(
          fmt::format("the environment variable {} is '{}', which is no number; mend what starts "
                      "the processes, or give "
                      "--launcher none to train with this process alone",
                      name, *value));
    }
    if (error != std::errc() || number > std::numeric_limits<int>::max()) {
      refuse_launch(
          fmt::format("the environment variable {} is {}, which is too large; mend "
                      "what starts the processes",
                      name, *value));
    }
    return number;
  }
  return std::nullopt;
}

int64_t Variables::required(std::initializer_list<const char*> names) const {
  if (const std::optional<int64_t> value = number(names)) return *value;
  missing(names);
}

int Variables::rank(std::initializer_list<const char*> names, int64_t limit,
                    const char* limit_name) const {
  const int64_t value = required(names);
  if (value < limit) return int(value);
  const char* const name =
      *std::find_if(names.begin(), names.end(), [this](const char* n) { return has(n); });
  refuse_launch(fmt::format("{} is {}, but {} is only {}; mend what starts the processes", name,
                            value, limit_name, limit));
}

std::optional<int> Variables::port() const {
  const std::optional<int64_t> port = number({"MASTER_PORT"});
  if (!port) return std::nullopt;
  if (*port >= 1 && *port <= 65535) return int(*port);
  refuse_launch(fmt::format("MASTER_PORT is {}, but ports go from 1 to 65535", *port));
}

void Variables::missing(std::initializer_list<const char*> names) const {
  refuse_launch(
      fmt::format("the environment variable {} is not set, which the launcher {} needs; start "
                  "fftrain by that launcher, or give "
                  "--launcher none to train without it",
                  *names.begin(), to_string(launcher_)));
}

int port_of_job(std::string_view job, std::string_view step) {
  constexpr uint32_t kFirst = 20000, kCount = 10000;
  const auto value = [](std::string_view text) {
    const bool is_number =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    uint32_t number = 0, hash = 2166136261;  // FNV-1a
    for (const char c : text) {
      number = (number * 10 + uint32_t(c - '0')) % kCount;
      hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return is_number ? number : hash % kCount;
  };
  return int(kFirst + (value(job) * 7 + value(step)) % kCount);
}

}  // namespace ffkit
