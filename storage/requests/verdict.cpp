#include "requests/verdict.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace ffkit {
namespace {

constexpr size_t kMaxWords = 200;
// As botocore has them (botocore/retries/standard.py).
constexpr auto kThrottlingCodes = std::to_array<std::string_view>(
    {"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException",
     "TooManyRequestsException", "ProvisionedThroughputExceededException",
     "TransactionInProgressException", "RequestLimitExceeded", "BandwidthLimitExceeded",
     "LimitExceededException", "RequestThrottled", "SlowDown", "PriorRequestNotComplete",
     "EC2ThrottledException"});
constexpr auto kPassingCodes =
    std::to_array<std::string_view>({"RequestTimeout", "RequestTimeoutException", "InternalError"});

bool is_throttling_code(std::string_view code) {
  return std::ranges::find(kThrottlingCodes, code) != kThrottlingCodes.end();
}

// Between <name> and </name>.
std::string_view element_of(std::string_view xml, const std::string& name) {
  const std::string start = "<" + name + ">";
  const size_t from = xml.find(start);
  if (from == std::string_view::npos) return {};
  const size_t to = xml.find("</" + name + ">", from);
  if (to == std::string_view::npos) return {};
  return xml.substr(from + start.size(), to - from - start.size());
}

// "Fri, 31 Dec 1999 23:59:59 GMT" in seconds since 1970. (strptime() goes by the locale.)
std::optional<int64_t> seconds_of_date(const std::string& text) {
  constexpr const char* kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::array<char, 4> month{};
  tm date{};
  if (std::sscanf(text.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &date.tm_mday, month.data(),
                  &date.tm_year, &date.tm_hour, &date.tm_min, &date.tm_sec) != 6) {
    return std::nullopt;
  }
  const char* found = std::strstr(kMonths, month.data());
  if (found == nullptr || std::strlen(month.data()) != 3 || (found - kMonths) % 3 != 0) {
    return std::nullopt;
  }
  date.tm_mon = static_cast<int>((found - kMonths) / 3);
  date.tm_year -= 1900;
  return ::timegm(&date);
}

std::string_view without_weakness(std::string_view etag) {
  return etag.starts_with("W/") ? etag.substr(2) : etag;
}

RangeAnswer failed(ErrorCode code, const AskedRange& asked, const std::string& message,
                   const std::string& remedy) {
  RangeAnswer answer{.kind = RangeAnswer::Kind::fail};
  answer.error =
      std::make_exception_ptr(Error(code, message, {.path = asked.address, .remedy = remedy}));
  return answer;
}

RangeAnswer changed(const AskedRange& asked, std::string_view now) {
  if (asked.is_version_of_attempt) {
    return {.kind = RangeAnswer::Kind::restart, .reason = "the object changed between attempts"};
  }
  const std::string is_now =
      now.empty() || now == asked.known.version ? "" : fmt::format(" but {}", now);
  return failed(ErrorCode::corrupt, asked,
                fmt::format("the object changed after it was opened: its version is no longer {}{}",
                            asked.known.version, is_now),
                "open the object again");
}

RangeAnswer shorter(const AskedRange& asked, int64_t total) {
  const std::string has = total < 0 ? "ends before them" : fmt::format("has only {} bytes", total);
  return failed(ErrorCode::corrupt, asked,
                fmt::format("ffkit asked for bytes {} to {}, but the object {}", asked.first,
                            asked.last(), has),
                "copy the object again, because it was cut off or replaced");
}

RangeAnswer ignores_ranges(const AskedRange& asked) {
  return failed(
      ErrorCode::unsupported, asked,
      fmt::format(
          "ffkit asked the server for bytes {} to {}, but the server answers with the whole "
          "object (status 200)",
          asked.first, asked.last()),
      "use a server that supports ranges, or copy the files to a disk");
}

RangeAnswer part(int64_t num_good, const std::string& reason) {
  return {.kind = RangeAnswer::Kind::part, .num_good = num_good, .reason = reason};
}

int64_t content_length(const HttpResponse& response) {
  std::string_view text = response.header("content-length");
  int64_t length = -1;
  return take_number(text, length) && text.empty() && length >= 0 ? length : -1;
}

bool is_of_version(const HttpResponse& response, const AskedRange& asked) {
  const std::string_view etag = response.header("etag");
  return asked.known.version.empty() || etag.empty() ||
         without_weakness(etag) == without_weakness(asked.known.version);
}

std::string reason_of(const HttpResponse& response, int64_t num_bytes) {
  if (!response.failure.empty()) return response.failure;
  return fmt::format("the answer has {} bytes instead of {}", response.num_bytes, num_bytes);
}

RangeAnswer judge_part(const HttpResponse& response, const AskedRange& asked) {
  if (!is_of_version(response, asked)) return changed(asked, response.header("etag"));
  const std::string_view text = response.header("content-range");
  const std::optional<ContentRange> range = parse_content_range(text);
  if (!range || range->first != asked.first || range->last > asked.last()) {
    return part(
        0, fmt::format("ffkit asked the server for bytes {} to {}, but the server answers with {}",
                       asked.first, asked.last(),
                       text.empty() ? "a part without a range" : "'" + std::string(text) + "'"));
  }
  if (asked.known.num_bytes >= 0 && range->total >= 0 && range->total != asked.known.num_bytes) {
    return failed(ErrorCode::corrupt, asked,
                  fmt::format("the object has {} bytes, but had {} bytes when it was opened",
                              range->total, asked.known.num_bytes),
                  "open the object again");
  }
  if (range->total >= 0 && range->total <= asked.last()) return shorter(asked, range->total);
  const int64_t num_said = range->last - range->first + 1;
  if (response.num_bytes > num_said || (response.status == 0 && !response.is_cut)) {
    return part(0, reason_of(response, num_said));
  }
  if (response.status != 0 && response.num_bytes == asked.num_bytes) {
    return {.kind = RangeAnswer::Kind::whole, .num_good = asked.num_bytes};
  }
  return part(response.num_bytes, reason_of(response, asked.num_bytes));
}

RangeAnswer judge_whole(const HttpResponse& response, const AskedRange& asked) {
  if (!is_of_version(response, asked)) return changed(asked, response.header("etag"));
  const int64_t length = content_length(response);
  if (asked.first != 0 || length > asked.num_bytes) return ignores_ranges(asked);
  if (length >= 0 && length < asked.num_bytes) return shorter(asked, length);
  if (response.status == 0) {
    if (!response.is_cut) return ignores_ranges(asked);  // there was more than fits
    return part(0, response.failure);
  }
  if (length < 0 && response.num_bytes < asked.num_bytes) {
    return shorter(asked, response.num_bytes);
  }
  return {.kind = RangeAnswer::Kind::whole, .num_good = asked.num_bytes};
}

}  // namespace

std::optional<double> retry_after_s(std::string_view text, int64_t now_s) {
  if (const auto seconds = number_of_text<double>(text)) return std::max(*seconds, 0.0);
  const std::optional<int64_t> date = seconds_of_date(std::string(text));
  if (!date) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(*date - now_s, 0));
}

std::optional<double> rate_limit_s(std::string_view text) {
  const auto number_after = [text](std::string_view name) {
    double number = -1;
    const size_t at = text.find(name);
    if (at == std::string_view::npos) return number;
    std::string_view rest = text.substr(at + name.size());
    take_number(rest, number);
    return number;
  };
  const double seconds = number_after(";t=");
  if (number_after(";r=") != 0 || seconds < 0) return std::nullopt;
  return seconds;
}

bool is_passing_code(std::string_view code) {
  return is_throttling_code(code) || std::ranges::find(kPassingCodes, code) != kPassingCodes.end();
}

Verdict judge_by_status(const HttpResponse& response) {
  const int status = response.status;
  bool is_throttled = status == 429 || status == 503;
  bool is_repeated =
      is_throttled || status == 408 || (status >= 500 && status != 501 && status != 505);
  if (status == 400) {
    const std::string_view code = element_of(response.body, "Code");
    is_throttled = is_throttling_code(code);
    is_repeated = is_passing_code(code);
  }
  if (!is_repeated) return {};
  std::optional<double> wait_s = retry_after_s(response.header("retry-after"), ::time(nullptr));
  if (!wait_s) wait_s = rate_limit_s(response.header("ratelimit"));
  return {
      .kind = Verdict::Kind::repeat, .wait_s = wait_s.value_or(0), .is_throttled = is_throttled};
}

std::string words_of(const std::string& body) {
  const std::string_view code = element_of(body, "Code");
  const std::string_view message = element_of(body, "Message");
  std::string words;
  if (code.empty() && message.empty()) {
    words = body.substr(0, kMaxWords);
  } else {
    words = std::string(code.substr(0, kMaxWords));
    if (!words.empty() && !message.empty()) words += ": ";
    words += message.substr(0, kMaxWords);
  }
  return printable(words);
}

std::string status_and_words(const HttpResponse& response) {
  const std::string words = words_of(response.body);
  return words.empty() ? fmt::format("status {}", response.status)
                       : fmt::format("status {} ({})", response.status, words);
}

RangeAnswer judge_range(const HttpResponse& response, const AskedRange& asked) {
  switch (response.seen_status) {
    case 200:
      // rclone answers ranges with 200, and says by Content-Range which part it is.
      return response.header("content-range").empty() ? judge_whole(response, asked)
                                                      : judge_part(response, asked);
    case 206:
      return judge_part(response, asked);
    case 404:
      return failed(ErrorCode::not_found, asked, "there is no such object", "");
    case 412:
      return changed(asked, response.header("etag"));
    case 416: {
      std::string_view text = response.header("content-range");
      int64_t total = -1;
      if (!take_text(text, "bytes */") || !take_number(text, total)) total = -1;
      return shorter(asked, total);
    }
    default:
      return {};
  }
}

std::vector<std::string> range_headers(const AskedRange& asked) {
  std::vector<std::string> headers = {fmt::format("Range: bytes={}-{}", asked.first, asked.last())};
  if (!asked.known.version.empty() && !asked.known.version.starts_with("W/")) {
    headers.push_back("If-Match: " + asked.known.version);
  }
  return headers;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  ContentRange range;
  if (!take_text(text, "bytes ") || !take_number(text, range.first) || !take_text(text, "-") ||
      !take_number(text, range.last) || !take_text(text, "/") || range.first < 0 ||
      range.last < range.first) {
    return std::nullopt;
  }
  if (text == "*") return range;
  if (!take_number(text, range.total) || !text.empty() || range.total <= range.last) {
    return std::nullopt;
  }
  return range;
}

}  // namespace ffkit
