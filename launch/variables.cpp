#include "variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include <ffkit/base/error.h>

namespace ffkit {

void refuse_launch(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
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
  refuse(words_.missing, *names.begin());
}

std::optional<int64_t> Variables::number(std::initializer_list<const char*> names) const {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  for (const char* name : names) {
    const std::optional<std::string> value = text({name});
    if (!value) continue;
    const size_t first = std::min(value->find_first_not_of(kSpaces), value->size());
    const char* const begin = value->data() + first;
    const char* const last = value->data() + value->find_last_not_of(kSpaces) + 1;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(begin, last, number);
    if (error == std::errc::invalid_argument || end != last || number < 0)
      refuse(words_.no_number, name);
    if (error != std::errc() || number > std::numeric_limits<int>::max())
      refuse(words_.too_large != nullptr ? words_.too_large : words_.no_number, name);
    return number;
  }
  return std::nullopt;
}

int64_t Variables::required(std::initializer_list<const char*> names, const char* because) const {
  if (const std::optional<int64_t> value = number(names)) return *value;
  refuse(words_.missing, *names.begin(), because, text({because}).value_or(""));
}

int Variables::rank(std::initializer_list<const char*> names, int64_t limit,
                    const char* limit_name) const {
  const int64_t value = required(names, limit_name);
  if (value < limit) return int(value);
  const char* const name =
      *std::find_if(names.begin(), names.end(), [this](const char* n) { return has(n); });
  refuse(words_.too_high, name, limit_name, std::to_string(limit));
}

void Variables::refuse(const char* words, const char* name, const char* other,
                       const std::string& other_value) const {
  const std::string value = text({name}).value_or("");
  refuse_launch(fmt::format(fmt::runtime(words), fmt::arg("name", name), fmt::arg("value", value),
                            fmt::arg("other", other), fmt::arg("other_value", other_value),
                            fmt::arg("detail", detail_)));
}

}  // namespace ffkit
