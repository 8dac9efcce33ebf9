#include "python_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/make_error.h"

namespace ffkit::nuscenes {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxDepth = 500;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view token_of(ondemand::value value) {
  const std::string_view token = trimmed(value.raw_json_token());
  if (token.empty()) throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
  return token;
}

JsonKind kind_of(ondemand::value value) {
  switch (token_of(value).front()) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::text;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return JsonKind::number;
  }
}

namespace {

// A number as JSON has it, or NaN, Infinity, -Infinity as Python writes them.
double read_number(ondemand::value value) {
  const std::string_view token = token_of(value);
  if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity") return kInfinity;
  if (token == "-Infinity") return -kInfinity;
  double number = 0;
  const auto error = value.get_double().get(number);
  if (error == simdjson::SUCCESS) return number;
  // Numbers beyond f64 are infinite in Python. strtod() takes more than JSON does, but none with an
  // exponent of digits alone.
  const bool is_plain = token.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  const double beyond = is_plain ? std::strtod(std::string(token).c_str(), nullptr) : 0;
  if (!std::isinf(beyond)) throw simdjson::simdjson_error(error);
  return beyond;
}

// Reads the value to its end and throws where it is no JSON.
void skip_nested(ondemand::value value, int depth) {
  if (depth > kMaxDepth) {
    throw error_of(ErrorCode::corrupt, "is nested more than {} times", kMaxDepth);
  }
  switch (kind_of(value)) {
    case JsonKind::object:
      for (auto field : value.get_object()) {
        (void)std::string_view(field.unescaped_key());
        skip_nested(field.value(), depth + 1);
      }
      break;
    case JsonKind::array:
      for (ondemand::value item : value.get_array()) skip_nested(item, depth + 1);
      break;
    case JsonKind::text:
      (void)std::string_view(value.get_string());
      break;
    case JsonKind::boolean:
      (void)bool(value.get_bool());
      break;
    case JsonKind::null:
      if (!value.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
      break;
    case JsonKind::number:
      (void)read_number(value);
      break;
  }
}

// Python's float() of a text, nothing where that fails.
std::optional<double> number_of_text(std::string_view text) {
  text = trimmed(text);
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  const bool is_negative = text.starts_with('-');
  if (has_sign) text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || text.find('(') != std::string_view::npos) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);
  return is_negative ? -value : value;
}

}  // namespace

void skip(ondemand::value value) {
  skip_nested(value, 0);
}

std::optional<double> number_or_none(ondemand::value value) {
  const JsonKind kind = kind_of(value);
  if (kind == JsonKind::number) return read_number(value);
  if (kind == JsonKind::boolean) return bool(value.get_bool()) ? 1 : 0;
  skip(value);
  return std::nullopt;
}

std::optional<double> number_or_text(ondemand::value value) {
  if (kind_of(value) != JsonKind::text) return number_or_none(value);
  return number_of_text(value.get_string());
}

}  // namespace ffkit::nuscenes
