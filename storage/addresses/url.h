// URLs of http and https, taken apart, and percent-encoding. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ffkit {

struct Url {
  bool is_https = true;
  std::string host;        // in lower case, with ":port" where it is not the scheme's own
  std::string path = "/";  // encoded, begins with a slash
  std::string query;       // encoded, without the question mark

  std::string text() const;
  bool operator==(const Url&) const = default;
};

// What no URL may have is encoded; a fragment ("#top") is left out. `what` begins the message:
// "AWS_ENDPOINT_URL". Throws Error(invalid_argument) for what is no URL of http or https, or has a
// user's name and password.
Url parse_url(std::string_view text, const std::string& what);

// `reference`, as a Location header has it, seen from `base`: absolute, from the host or from the
// root on.
Url redirected(const Url& base, std::string_view reference);

// `text` for messages: without its query, which may be a signature, and without a password.
std::string shown_url(std::string_view text);

// `text` without the slashes at its end.
std::string without_slash(std::string text);

// Percent-encoding as RFC 3986 has it and S3 signs it: letters, digits and "-._~" stay, every other
// byte becomes %XX with capital letters.
std::string percent_encoded(std::string_view text);
// The same, but slashes stay: for the path of an object.
std::string percent_encoded_path(std::string_view path);
// A path or query that somebody has written as a URL: what no URL may have (spaces, control
// characters, bytes above 127) is encoded, everything else stays, encodings among them.
std::string as_in_url(std::string_view text);
// "%2F" becomes "/"; a percent sign without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

}  // namespace ffkit
