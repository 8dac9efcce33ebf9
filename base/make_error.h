// Errors with a formatted message, and those of a file or a folder as a whole, in one call:
//
//   throw error_of(ErrorCode::invalid_argument, "is {} x {} pixels", width, height);
//   throw error_at(path, ErrorCode::corrupt, "has {} records, but {} by its index", n, m);
//
// A message with arguments behind it is formatted; one alone is taken as it is.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <ffkit/base/error.h>

namespace ffkit {

template <typename First, typename... Rest>
Error error_of(ErrorCode code, fmt::format_string<First, Rest...> message, First&& first,
               Rest&&... rest) {
  return {code, fmt::format(message, std::forward<First>(first), std::forward<Rest>(rest)...)};
}

// "<path>: <message>".
Error error_at(const std::filesystem::path& path, ErrorCode code, const std::string& message);
template <typename First, typename... Rest>
Error error_at(const std::filesystem::path& path, ErrorCode code,
               fmt::format_string<First, Rest...> message, First&& first, Rest&&... rest) {
  return error_at(path, code,
                  fmt::format(message, std::forward<First>(first), std::forward<Rest>(rest)...));
}

// As error_at(), about a data set.
Error dataset_error(const std::filesystem::path& path, ErrorCode code, const std::string& message);
template <typename First, typename... Rest>
Error dataset_error(const std::filesystem::path& path, ErrorCode code,
                    fmt::format_string<First, Rest...> message, First&& first, Rest&&... rest) {
  return dataset_error(
      path, code, fmt::format(message, std::forward<First>(first), std::forward<Rest>(rest)...));
}

// Error(invalid_argument) about the option, or the argument, `name`: "on_error".
Error argument_error(const std::string& name, const std::string& message);

// Error(io) of a system call that failed with `errno_value`.
Error io_error_at(const std::filesystem::path& path, const std::string& message, int errno_value);

// Throws io_error_at() where `error` is one: `message` says what cannot be done.
void require_done(const std::error_code& error, const std::filesystem::path& path,
                  const std::string& message);

}  // namespace ffkit
