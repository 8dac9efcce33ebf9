#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <ffkit/base/option_names.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "base/printable.h"
#include "http/server.h"

namespace ffkit::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_name(std::string_view name, std::string_view wanted) {
  return name.size() == wanted.size() && begins_without_case(name, wanted);
}

// Up to `end`, which is taken away too; all of it where there is none.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return taken;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_plain_path(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    const std::string_view part = take_until(path, "/");
    if (part == "." || part == "..") return false;
  }
  return true;
}

std::optional<RequestProblem> parse_target(std::string_view target, Request& request) {
  const std::string_view raw_path = take_until(target, "?");
  std::optional<std::string> path = percent_decoded(raw_path, false);
  if (!path || !is_plain_path(*path)) return RequestProblem{400, "the path is not valid"};
  request.path = std::move(*path);
  while (!target.empty()) {
    std::string_view pair = take_until(target, "&");
    if (pair.empty()) continue;
    std::optional<std::string> name = percent_decoded(take_until(pair, "="), true);
    std::optional<std::string> value = percent_decoded(pair, true);
    if (!name || !value) return RequestProblem{400, "a parameter is not percent-encoded"};
    request.parameters.insert_or_assign(std::move(*name), std::move(*value));
  }
  return std::nullopt;
}

std::optional<RequestProblem> parse_field(std::string_view line, Request& request) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) {
    return RequestProblem{400, "a header line has no name"};
  }
  const std::string_view name = line.substr(0, colon);
  for (const char c : name) {
    if (c <= ' ' || c == 127) return RequestProblem{400, "a header name has spaces"};
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (is_name(name, "host")) {
    // Two of them: what stands before this server may have looked at the other one.
    if (!request.host.empty()) return RequestProblem{400, "Host appears twice"};
    request.host = value;
  } else if (is_name(name, "origin")) {
    request.origin = value;
  } else if (is_name(name, "sec-fetch-site")) {
    request.fetch_site = value;
  } else if (is_name(name, "sec-fetch-mode")) {
    request.fetch_mode = value;
  } else if (is_name(name, "sec-fetch-dest")) {
    request.fetch_dest = value;
  } else if (is_name(name, "connection")) {
    if (is_name(value, "close")) request.keep_alive = false;
    if (is_name(value, "keep-alive")) request.keep_alive = true;
  } else if (is_name(name, "transfer-encoding") ||
             (is_name(name, "content-length") && value != "0")) {
    return RequestProblem{400, "a request must have no body"};
  }
  return std::nullopt;
}

constexpr std::pair<int, std::string_view> kReasons[] = {
    {200, "OK"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {431, "Request Header Fields Too Large"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};
std::string_view reason_of(int status) {
  for (const auto& [known, reason] : kReasons) {
    if (known == status) return reason;
  }
  return status < 500 ? "Error" : "Internal Server Error";
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

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(16 * high + low);
      i += 2;
    } else {
      out += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

size_t head_length(std::string_view bytes) {
  const size_t at = bytes.find("\r\n\r\n");
  return at == std::string_view::npos ? 0 : at + 4;
}

std::optional<RequestProblem> parse_request(std::string_view head, Request& request) {
  if (!head.ends_with("\r\n\r\n")) return RequestProblem{400, "the header does not end"};
  head.remove_suffix(2);
  std::string_view line = take_until(head, "\r\n");
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  if (line != "HTTP/1.1" && line != "HTTP/1.0") {
    return RequestProblem{line.starts_with("HTTP/") ? 505 : 400, "this is not HTTP/1.1"};
  }
  if (method != "GET" && method != "HEAD") {
    return RequestProblem{405, "only GET and HEAD are allowed"};
  }
  for (const char c : target) {
    if (c <= ' ' || c == 127) return RequestProblem{400, "the address has spaces"};
  }
  request.is_head = method == "HEAD";
  request.keep_alive = line == "HTTP/1.1";
  if (auto problem = parse_target(target, request)) return problem;
  while (!head.empty()) {
    if (auto problem = parse_field(take_until(head, "\r\n"), request)) return problem;
  }
  if (request.host.empty()) return RequestProblem{400, "Host is missing"};
  return std::nullopt;
}

std::string Request::text(const std::string& name, const std::string& otherwise) const {
  const auto at = parameters.find(name);
  return at == parameters.end() ? otherwise : at->second;
}

int64_t Request::number(const std::string& name, int64_t otherwise, int64_t least,
                        int64_t most) const {
  return parameters.contains(name) ? required_number(name, least, most) : otherwise;
}

int64_t Request::required_number(const std::string& name, int64_t least, int64_t most) const {
  const auto at = parameters.find(name);
  if (at == parameters.end()) {
    throw error_of(ErrorCode::invalid_argument, "the parameter '{}' is missing", name);
  }
  const auto number = number_of_text<int64_t>(at->second);
  if (number && *number >= least && *number <= most) return *number;
  throw error_of(ErrorCode::invalid_argument, "'{}' is '{}'; expected a whole number from {} to {}",
                 name, printable(at->second), least, most);
}

bool Request::flag(const std::string& name) const {
  return number(name, 0, 0, 1) == 1;
}

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

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// "127.0.0.1:8080" and the like: this machine by a name that no name server gives away.
bool is_this_machine(std::string_view host) {
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    return rest.front() == ':' && rest.size() <= 6 &&
           std::ranges::all_of(rest.substr(1), [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

// Of the same length; looks at every byte, whichever differ.
bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  }
  const volatile unsigned result = different;
  return result == 0;
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 22> bytes = {};
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::io, "the system gives no random numbers; give a token of your own");
    }
    done += static_cast<size_t>(got);
  }
  std::string token;
  for (const unsigned char byte : bytes) token += kDigits[byte % kDigits.size()];
  return token;
}

Gate::Gate(std::string token) : token_(std::move(token)) {
  const bool is_plain =
      std::ranges::all_of(token_, [](char c) { return kDigits.find(c) != std::string_view::npos; });
  if (token_.size() < 16 || token_.size() > 128 || !is_plain) {
    throw argument_error("token", option_name("token") +
                                      " must have 16 to 128 letters, digits, '-' and '_', so that "
                                      "nobody can guess it");
  }
}

std::optional<Response> Gate::refuse(Request& request) const {
  if (!is_this_machine(request.host)) {
    return Response{.status = 403,
                    .body =
                        "The address has the name of another host. Open it as 127.0.0.1 or "
                        "localhost.\n"};
  }
  const bool is_own_origin = request.origin.empty() || request.origin == "http://" + request.host;
  const bool is_own_site = request.fetch_site.empty() || request.fetch_site == "same-origin" ||
                           request.fetch_site == "none";
  // A link that somebody follows, such as from a terminal in the browser: the page with the link
  // sees nothing of what comes.
  const bool is_followed = request.origin.empty() && request.fetch_mode == "navigate" &&
                           request.fetch_dest == "document";
  if ((!is_own_origin || !is_own_site) && !is_followed) {
    return Response{.status = 403, .body = "A page of another site may not read this data.\n"};
  }
  const std::string_view path = request.path;
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  if (!are_equal(first, token_)) {
    return Response{.status = 403,
                    .body =
                        "The address has no valid token. Open the address that 'ffinspect serve' "
                        "printed.\n"};
  }
  request.path.erase(0, 1 + token_.size());
  // The page's addresses are relative to the folder.
  if (request.path.empty()) return Response{.status = 308, .location = "/" + token_ + "/"};
  return std::nullopt;
}

}  // namespace ffkit::http
