#include "addresses/percent.h"

namespace ffkit {
namespace {

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

template <typename Stays>
std::string encoded_unless(std::string_view text, const Stays& stays) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (stays(c)) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += '%';
    result += kDigits[byte >> 4];
    result += kDigits[byte & 15];
  }
  return result;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  return encoded_unless(text, is_unreserved);
}

std::string percent_encoded_path(std::string_view path) {
  return encoded_unless(path, [](char c) { return is_unreserved(c) || c == '/'; });
}

std::string as_in_url(std::string_view text) {
  return encoded_unless(text, [](char c) {
    return is_unreserved(c) ||
           std::string_view("%!$&'()*+,;=:@/?[]").find(c) != std::string_view::npos;
  });
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_encoding = text[i] == '%' && text.size() - i > 2 && hex_digit(text[i + 1]) >= 0 &&
                             hex_digit(text[i + 2]) >= 0;
    if (!is_encoding) {
      result += text[i];
      continue;
    }
    result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return result;
}

}  // namespace ffkit
