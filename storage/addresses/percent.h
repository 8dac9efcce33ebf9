// Percent-encoding as RFC 3986 has it and S3 signs it: letters, digits and "-._~" stay, every other
// byte becomes %XX with capital letters. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ffkit {

std::string percent_encoded(std::string_view text);
// The same, but slashes stay: for the path of an object.
std::string percent_encoded_path(std::string_view path);
// A path or query that somebody has written as a URL: what no URL may have (spaces, control
// characters, bytes above 127) is encoded, everything else stays, encodings among them.
std::string as_in_url(std::string_view text);
// "%2F" becomes "/"; a percent sign without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

}  // namespace ffkit
