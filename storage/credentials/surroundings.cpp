#include "credentials/surroundings.h"

#include <fmt/chrono.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "addresses/url.h"
#include "base/file/file.h"
#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"

namespace ffkit {
namespace {

constexpr int64_t kMaxCredentialFileBytes = 4 << 20;
// What a Moment can hold: its 64 bits of nanoseconds end in 2262.
constexpr std::chrono::sys_days kFirstMoment = std::chrono::year(1900) / 1 / 1;
constexpr std::chrono::sys_days kLastMoment = std::chrono::year(2200) / 12 / 31;

std::filesystem::path home_folder() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_dir;
  }
  return "/";
}

std::string without_line_breaks(std::string_view text) {
  const size_t last = text.find_last_not_of("\r\n");
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) {
    throw io_error_at({}, "the command cannot be run", errno);
  }
  std::string output;
  std::array<char, 4096> buffer;
  size_t num_read = 0;
  while ((num_read = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    if (output.size() < kMaxCredentialFileBytes) output.append(buffer.data(), num_read);
  }
  const int status = pclose(pipe);
  if (status != 0) {
    throw error_of(ErrorCode::invalid_argument, "the command failed with status {}",
                   WIFEXITED(status) ? WEXITSTATUS(status) : status);
  }
  return output;
}

// Takes `num_digits` digits off `rest`.
bool take_digits(std::string_view& rest, size_t num_digits, int& number) {
  if (rest.size() < num_digits) return false;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + num_digits, number);
  if (error != std::errc() || end != rest.data() + num_digits || number < 0) return false;
  rest.remove_prefix(num_digits);
  return true;
}

}  // namespace

bool Surroundings::is_on(const std::string& name) const {
  const std::string value = in_lower_case(variable(name));
  return value == "1" || value == "yes" || value == "true" || value == "on";
}

Surroundings process_surroundings() {
  return {.variable =
              [](const std::string& name) {
                const char* value = std::getenv(name.c_str());
                // A value that was read from a file may have the file's line break.
                return without_line_breaks(value == nullptr ? "" : value);
              },
          .home = home_folder(),
          .client = [] { return process_http_client(); },
          .now = [] { return std::chrono::system_clock::now(); },
          .run = output_of,
          .wait = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
}

std::optional<std::string> text_if_there(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return read_whole_text(path, kMaxCredentialFileBytes);
}

std::string first_line(std::string_view text) {
  const std::string_view spaces = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  return std::string(text.substr(0, text.find_first_of(spaces)));
}

HttpResponse ask_patiently(const Surroundings& surroundings,
                           const std::function<HttpRequest()>& make) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    HttpResponse response = surroundings.client()->fetch(make());
    const bool may_pass = response.status == 0 || response.status == 429 || response.status >= 500;
    if (!may_pass || attempt == kAttempts) return response;
    surroundings.wait(std::chrono::milliseconds(200 * attempt));
  }
}

HttpResponse ask(const Surroundings& surroundings, const std::string& method,
                 const std::string& url, const std::vector<std::string>& headers,
                 const std::string& body, double time_limit_s, Patience patience,
                 const std::string& ca_file) {
  const auto make = [&] {
    HttpRequest request;
    request.method = method;
    request.url = url;
    request.headers = headers;
    request.body = std::as_bytes(std::span(body));
    request.max_body_bytes = 1 << 20;
    request.stall_limit_s = time_limit_s;
    request.time_limit_s = time_limit_s;
    request.ca_file = ca_file;
    return request;
  };
  return patience == Patience::once ? surroundings.client()->fetch(make())
                                    : ask_patiently(surroundings, make);
}

struct JsonAnswer::Document {
  nlohmann::json json;

  const nlohmann::json* find(std::string_view path) const {
    const nlohmann::json* place = &json;
    while (!path.empty()) {
      const std::string name(path.substr(0, path.find('/')));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
      if (!place->is_object() || !place->contains(name)) return nullptr;
      place = &place->at(name);
    }
    return place;
  }
};

JsonAnswer::JsonAnswer(const std::string& text)
    : document_(new Document{nlohmann::json::parse(text, nullptr, false)}) {}
JsonAnswer::~JsonAnswer() = default;
JsonAnswer::JsonAnswer(JsonAnswer&&) noexcept = default;
JsonAnswer& JsonAnswer::operator=(JsonAnswer&&) noexcept = default;

bool JsonAnswer::is_object() const {
  return document_->json.is_object();
}

std::string JsonAnswer::text(const std::string& path) const {
  const nlohmann::json* found = document_->find(path);
  if (found == nullptr) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : std::string();
}

double JsonAnswer::number(const std::string& path, double otherwise) const {
  const nlohmann::json* found = document_->find(path);
  return found != nullptr && found->is_number() ? found->get<double>() : otherwise;
}

std::chrono::seconds JsonAnswer::lifetime(const std::string& path) const {
  return std::chrono::seconds(static_cast<int64_t>(std::clamp(number(path, 3600), 0.0, 1e9)));
}

void JsonAnswer::set(const std::string& name, const std::string& value) {
  document_->json[name] = value;
}

void JsonAnswer::set(const std::string& name, int64_t value) {
  document_->json[name] = value;
}

std::string JsonAnswer::dump() const {
  return document_->json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Moment> moment_of(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const bool is_moment =
      take_digits(text, 4, year) && take_text(text, "-") && take_digits(text, 2, month) &&
      take_text(text, "-") && take_digits(text, 2, day) &&
      (take_text(text, "T") || take_text(text, " ")) && take_digits(text, 2, hour) &&
      take_text(text, ":") && take_digits(text, 2, minute) && take_text(text, ":") &&
      take_digits(text, 2, second);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!is_moment || !date.ok() || hour > 24 || minute > 59 || second > 60) return std::nullopt;
  if (take_text(text, ".")) {
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
  }
  std::chrono::minutes offset{0};
  if (text.starts_with('+') || text.starts_with('-')) {
    const int sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    int hours = 0;
    int minutes = 0;
    if (!take_digits(text, 2, hours)) return std::nullopt;
    take_text(text, ":");
    if (!take_digits(text, 2, minutes)) return std::nullopt;
    offset = std::chrono::minutes(sign * (hours * 60 + minutes));
  } else if (text != "Z" && text != "UTC") {
    return std::nullopt;
  }
  return std::clamp(std::chrono::sys_days(date), kFirstMoment, kLastMoment) +
         std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second) -
         offset;
}

std::string text_of_moment(Moment moment) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(moment)));
}

std::string outcome_of(const HttpResponse& response) {
  if (response.status == 0) return response.failure.empty() ? "no answer" : response.failure;
  return fmt::format("status {}", response.status);
}

std::string form_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string form;
  for (const auto& [name, value] : members) {
    form += fmt::format("{}{}={}", form.empty() ? "" : "&", percent_encoded(name),
                        percent_encoded(value));
  }
  return form;
}

}  // namespace ffkit
