#include "addresses/url.h"

#include <algorithm>

#include "addresses/percent.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

[[noreturn]] void refuse_url(std::string_view text, const std::string& what,
                             const std::string& why) {
  throw Error(
      ErrorCode::invalid_argument, fmt::format("{} '{}' {}", what, printable(shown_url(text)), why),
      {.subject = ErrorSubject::argument, .remedy = "write it as https://HOST[:PORT]/PATH"});
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

std::string Url::text() const {
  return (is_https ? "https://" : "http://") + host + path + (query.empty() ? "" : "?" + query);
}

Url parse_url(std::string_view text, const std::string& what) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    url.is_https = false;
    rest.remove_prefix(7);
  } else {
    refuse_url(text, what, "does not begin with https:// or http://");
  }
  rest = rest.substr(0, rest.find('#'));
  const size_t end_of_host = std::min(rest.find_first_of("/?"), rest.size());
  url.host = rest.substr(0, end_of_host);
  rest.remove_prefix(end_of_host);
  if (url.host.find('@') != std::string::npos) {
    refuse_url(text, what, "has a user's name before its host, which is not supported");
  }
  std::ranges::transform(url.host, url.host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  const size_t colon = url.host.rfind(':');
  const bool has_port =
      colon != std::string::npos && url.host.find(']', colon) == std::string::npos;
  const std::string_view name =
      std::string_view(url.host).substr(0, has_port ? colon : url.host.size());
  if (has_port && !is_port(std::string_view(url.host).substr(colon + 1))) {
    refuse_url(text, what, "has no number of a port behind its host");
  }
  if (!is_host_name(name) && !is_ipv6(name)) refuse_url(text, what, "has no name of a host");
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
