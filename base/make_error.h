// Errors with a formatted message, and those of a file or a folder as a whole, in one call:
//
//   throw error_of(ErrorCode::invalid_argument, "is {} x {} pixels", width, height);
//   throw error_at(path, ErrorCode::corrupt, "has {} records, but {} by its index", n, m);
//
// A message with arguments behind it is formatted; one alone is taken as it is. Also the edge of
// the library, behind which the failures of the standard library are Errors too (errors_only), and
// refusals of the values of options.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
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

// As error_at(), about a file of a training run: a checkpoint, weights.
Error checkpoint_error(const std::filesystem::path& path, ErrorCode code,
                       const std::string& message);
template <typename First, typename... Rest>
Error checkpoint_error(const std::filesystem::path& path, ErrorCode code,
                       fmt::format_string<First, Rest...> message, First&& first, Rest&&... rest) {
  return checkpoint_error(
      path, code, fmt::format(message, std::forward<First>(first), std::forward<Rest>(rest)...));
}

// Error(invalid_argument) about the option, or the argument, `name`: "bad_samples".
Error argument_error(const std::string& name, const std::string& message);

// Throws Error(invalid_argument).
[[noreturn]] inline void refuse_argument(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

// Error(io) of a system call that failed with `errno_value`.
Error io_error_at(const std::filesystem::path& path, const std::string& message, int errno_value);

// What makes the system take what it refused to write, as an order: "free some space"; empty where
// its own words say enough.
std::string remedy_of_errno(int errno_value);

// Throws io_error_at() where `error` is one: `message` says what cannot be done.
void require_done(const std::error_code& error, const std::filesystem::path& path,
                  const std::string& message);

// Throws the exception that is being handled again: Errors as they are; memory that there is not,
// and what <filesystem> and <system_error> say, as an Error of `path` and `record`; `remedy` says
// how less memory is needed, or more had. Anything else, such as what a user's own code throws, as
// it is.
[[noreturn]] void rethrow_as_error(const std::filesystem::path& path, int64_t record,
                                   const char* remedy);

// Whether memory ran out, as rethrow_as_error() says it: then it is not the data that is bad.
bool is_out_of_memory(const Error& error);

inline constexpr const char* kMemoryForRecords =
    "read with fewer threads, or give the process more memory (ulimit -v, or container)";
inline constexpr const char* kMoreMemory = "give the process more memory (ulimit -v, or container)";

// Calls `work` and returns what it returns; its exceptions as rethrow_as_error() has them.
template <typename Work>
auto errors_only(const std::filesystem::path& path, int64_t record, const char* remedy, Work&& work)
    -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    rethrow_as_error(path, record, remedy);
  }
}

template <typename Work>
auto errors_only(const std::filesystem::path& path, Work&& work) -> decltype(work()) {
  return errors_only(path, -1, kMoreMemory, std::forward<Work>(work));
}

// Refuses the value of an option: "<what> is <value>; expected <what would do>".
[[noreturn]] inline void refuse(std::string_view what, double value, std::string_view expected) {
  throw error_of(ErrorCode::invalid_argument, "{} is {:g}; expected {}", what, value, expected);
}

// Written so that NaN is refused too.
inline void check_between(std::string_view what, double value, double min, double max) {
  if (!(value >= min && value <= max)) refuse(what, value, fmt::format("{:g} to {:g}", min, max));
}

// The same of a range from which a value is drawn.
inline void check_bounds(std::string_view what, double min, double max, double lowest,
                         double highest) {
  if (min >= lowest && max >= min && max <= highest) return;
  throw error_of(ErrorCode::invalid_argument,
                 "{} is {:g} to {:g}; expected {:g} <= min <= max <= {:g}", what, min, max, lowest,
                 highest);
}

inline void check_probability(std::string_view what, double value) {
  check_between(what, value, 0, 1);
}

// The ranges of a crop or of what is erased: shares of the image's area and width / height or
// height / width.
template <typename Options>
void check_scale_and_ratio(std::string_view name, const Options& o) {
  const auto named = [&](const char* value) { return fmt::format("{} {}", name, value); };
  if (!(o.scale_min > 0 && o.scale_min <= 1)) {
    refuse(named("scale_min"), o.scale_min, "more than 0 and at most 1");
  }
  if (!(o.scale_max >= o.scale_min && o.scale_max <= 1)) {
    refuse(named("scale_max"), o.scale_max, "scale_min to 1");
  }
  if (!(o.ratio_min > 0 && std::isfinite(o.ratio_min))) {
    refuse(named("ratio_min"), o.ratio_min, "more than 0");
  }
  if (!(o.ratio_max >= o.ratio_min && std::isfinite(o.ratio_max))) {
    refuse(named("ratio_max"), o.ratio_max, "at least ratio_min");
  }
}

}  // namespace ffkit
