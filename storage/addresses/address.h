// Addresses of objects, taken apart:
//
//   s3://BUCKET/KEY    gs://BUCKET/KEY    https://HOST[:PORT]/PATH[?QUERY]    http://...
//   hf://datasets/OWNER/NAME[@REVISION]/PATH    file:///PATH
//
// Keys and paths stand as they are, without percent-encoding: so a name can be put behind an
// address with a slash, as with std::filesystem. Paths of https and http are URLs, which others
// wrote: encodings in them stay, and what no URL may have is encoded. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

enum class Scheme : uint8_t { s3, gs, https, http, hf, file };

struct Address {
  Scheme scheme = Scheme::s3;
  std::string place;     // the bucket; the host with its port; "OWNER/NAME"; empty for file
  std::string path;      // without a slash at its begin, but for file; may be empty
  std::string query;     // https and http alone
  std::string revision;  // hf alone: "main" unless given

  bool operator==(const Address&) const = default;
};

// How `text` begins where it is an address: "s3://", whatever the case of its letters; empty for a
// path.
std::string_view start_of_address(std::string_view text);

// Throws Error(invalid_argument) for what is no such address.
Address parse_address(std::string_view text);

// The address as text; parse_address() makes the same of it.
std::string text_of(const Address& address);

// `text` for messages: without a query, which may be a signature.
std::string shown_address(std::string_view text);

}  // namespace ffkit
