#include "addresses/url.h"

#include <algorithm>

#include "base/make_error.h"
#include "base/printable.h"

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

[[noreturn]] void refuse_url(std::string_view text, const std::string& what,
                             const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} '{}' {}", what, printable(shown_url(text)), why),
              {.subject = ErrorSubject::argument,
               .remedy = "write the address as https://HOST[:PORT]/PATH"});
}

bool is_host_name(std::string_view host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_';
  });
}

bool is_ipv6(std::string_view host) {
  return host.size() > 3 && host.front() == '[' && host.back() == ']' &&
         std::ranges::all_of(host.substr(1, host.size() - 2), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
         });
}

bool is_port(std::string_view port) {
  return !port.empty() && port.size() <= 5 &&
         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoi(std::string(port)) <= 65535;
}

}  // namespace

std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

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

std::string Url::text() const {
  return (is_https ? "https://" : "http://") + host + path + (query.empty() ? "" : "?" + query);
}

Url parse_url(std::string_view text, const std::string& what) {
  const std::string unmarked = without_marks(text);
  text = unmarked;
  Url url;
  std::string_view rest = text;
  if (begins_without_case(rest, "https://")) {
    rest.remove_prefix(8);
  } else if (begins_without_case(rest, "http://")) {
    url.is_https = false;
    rest.remove_prefix(7);
  } else {
    refuse_url(text, what, "does not begin with https:// or http://");
  }
  rest = rest.substr(0, rest.find('#'));
  const size_t end_of_host = std::min(rest.find_first_of("/?"), rest.size());
  url.host = in_lower_case(rest.substr(0, end_of_host));
  rest.remove_prefix(end_of_host);
  if (url.host.find('@') != std::string::npos) {
    refuse_url(text, what, "has a user name before the host, which is not supported");
  }
  const size_t colon = url.host.rfind(':');
  const bool has_port =
      colon != std::string::npos && url.host.find(']', colon) == std::string::npos;
  const std::string_view name =
      std::string_view(url.host).substr(0, has_port ? colon : url.host.size());
  if (has_port && !is_port(std::string_view(url.host).substr(colon + 1))) {
    refuse_url(text, what, "has no valid port number after the host");
  }
  if (!is_host_name(name) && !is_ipv6(name)) refuse_url(text, what, "has no valid host name");
  // A client leaves out the port that a scheme has by itself, and signs the host without it.
  const std::string own_port = url.is_https ? ":443" : ":80";
  if (has_port && url.host.ends_with(own_port)) url.host.resize(url.host.size() - own_port.size());
  const size_t mark = rest.find('?');
  const std::string_view path = rest.substr(0, mark);
  if (!path.empty()) url.path = as_in_url(path);
  if (mark != std::string_view::npos) url.query = as_in_url(rest.substr(mark + 1));
  return url;
}

Url redirected(const Url& base, std::string_view reference) {
  if (reference.starts_with("//")) {
    return parse_url((base.is_https ? "https:" : "http:") + std::string(reference),
                     "the redirection to");
  }
  if (!reference.starts_with('/')) return parse_url(reference, "the redirection to");
  Url url = base;
  reference = reference.substr(0, reference.find('#'));
  const size_t mark = reference.find('?');
  url.path = as_in_url(reference.substr(0, mark));
  url.query = mark == std::string_view::npos ? "" : as_in_url(reference.substr(mark + 1));
  return url;
}

std::string shown_url(std::string_view text) {
  std::string result(text.substr(0, text.find_first_of("?#")));
  const size_t host = result.find("://");
  const size_t begin = host == std::string::npos ? 0 : host + 3;
  const size_t end = std::min(result.find('/', begin), result.size());
  const size_t at = result.rfind('@', end == 0 ? 0 : end - 1);
  if (at != std::string::npos && at >= begin && at < end) result.replace(begin, at - begin, "...");
  if (result.size() < text.size() && text.find('?') != std::string_view::npos) result += "?...";
  return result;
}

}  // namespace ffkit
