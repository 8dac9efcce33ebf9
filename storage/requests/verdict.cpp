#include "requests/verdict.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/printable.h"

namespace ffkit {
namespace {

constexpr size_t kMaxWords = 200;

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

}  // namespace

std::optional<double> retry_after_s(std::string_view text, int64_t now_s) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) return std::max(seconds, 0.0);
  const std::optional<int64_t> date = seconds_of_date(std::string(text));
  if (!date) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(*date - now_s, 0));
}

Verdict judge_by_status(const HttpResponse& response) {
  switch (response.status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      break;
    default:
      return {};
  }
  return {.kind = Verdict::Kind::repeat,
          .wait_s = retry_after_s(response.header("retry-after"), ::time(nullptr)).value_or(0),
          .is_throttled = response.status == 429 || response.status == 503};
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

}  // namespace ffkit
