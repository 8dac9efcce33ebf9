#include "http/response.h"

#include <fmt/format.h>

namespace ffkit::http {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

// A name as a quoted string: no quotes, backslashes or control characters.
std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (const char c : name) {
    const bool is_plain = c >= ' ' && c != '"' && c != '\\' && c != 127;
    out += is_plain ? c : '_';
  }
  return out + '"';
}

}  // namespace

std::string response_head(const Response& response, bool keep_alive) {
  const std::string own = response.nonce.empty() ? "" : fmt::format(" 'nonce-{}'", response.nonce);
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\n"
      "Content-Type: {}\r\n"
      "Content-Length: {}\r\n"
      "Connection: {}\r\n"
      "Cache-Control: {}\r\n"
      "Content-Security-Policy: default-src 'self'; img-src 'self' blob: data:; style-src "
      "'self'{}; "
      "script-src 'self'{}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n",
      response.status, reason_of(response.status), response.content_type, response.body.size(),
      keep_alive ? "keep-alive" : "close",
      response.may_be_kept && response.status == 200 ? "private, max-age=3600" : "no-store", own,
      own);
  if (!response.location.empty()) head += fmt::format("Location: {}\r\n", response.location);
  if (response.status == 405) head += "Allow: GET, HEAD\r\n";
  if (!response.file_name.empty()) {
    head +=
        fmt::format("Content-Disposition: attachment; filename={}\r\n", quoted(response.file_name));
  }
  return head + "\r\n";
}

}  // namespace ffkit::http
