// Place: where a file or a folder is, as a user gives it: the path of one on this machine, or the
// address of one in a store. Which it is, is told once, where it comes in. The name of a scheme
// counts without case ("S3://bucket/set") and is in lower case from then on, also in messages;
// other names of it become it ("s3a://"). A URL's signature is taken off and kept (signatures.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ffkit {

class Place {
 public:
  Place() = default;
  // Whoever takes a place takes a path and a text, too.
  Place(const std::filesystem::path& path);  // NOLINT(google-explicit-constructor)
  Place(const std::string& path)             // NOLINT(google-explicit-constructor)
      : Place(std::filesystem::path(path)) {}
  Place(const char* path)  // NOLINT(google-explicit-constructor)
      : Place(std::filesystem::path(path)) {}

  // Whether a store is asked for it, as "s3://", "gs://", "az://", "r2://", "https://", "http://",
  // "hf://" or "file://" before something says; otherwise std::filesystem is.
  bool is_in_store() const { return is_in_store_; }
  // A path, or an address of file://.
  bool is_on_disk() const;
  // Its path; of what is on no disk, the address.
  std::filesystem::path path_on_disk() const;

  // As std::filesystem::path keeps both; of a store, the address.
  const std::filesystem::path& path() const { return path_; }
  const std::string& address() const { return path_.native(); }

  // What has this name below; the place itself where it is empty.
  Place child(const std::string& name) const;
  // For messages: the path of what is on a disk; otherwise the address, without the query of a URL,
  // which may be a signature.
  std::string shown() const;

  // The same place, of which a store is asked: a path becomes an address of file://. There is no
  // slash at its end.
  Place in_store() const;

 private:
  std::filesystem::path path_;
  bool is_in_store_ = false;
};

enum class Scheme : uint8_t { s3, r2, gs, az, https, http, hf, file };

// The address of an object, taken apart:
//
//   s3://BUCKET/KEY    r2://BUCKET/KEY    gs://BUCKET/KEY    az://ACCOUNT/CONTAINER/KEY
//   https://HOST[:PORT]/PATH[?QUERY]    http://...
//   hf://datasets/OWNER/NAME[@REVISION]/PATH    file:///PATH
//
// Keys and paths stand as they are, without percent-encoding: so a name can be put behind an
// address with a slash, as with std::filesystem. Paths of https and http are URLs, which others
// wrote: encodings in them stay, and what no URL may have is encoded.
struct Address {
  Scheme scheme = Scheme::s3;
  std::string place;     // the bucket; "ACCOUNT/CONTAINER"; the host with its port; "OWNER/NAME";
                         // empty for file
  std::string path;      // without a slash at its begin, but for file; may be empty
  std::string query;     // https and http alone
  std::string revision;  // hf alone: "main" unless given
  int mark = 0;          // of its options (storage_options.h); 0: it has none

  bool operator==(const Address&) const = default;
};

// How `text` begins where it is an address: "s3://", whatever the case of its letters, or another
// name of it ("s3a://"); empty for a path.
std::string_view start_of_address(std::string_view text);

// Throws Error(invalid_argument) for what is no such address.
Address parse_address(std::string_view text);

// The address as text; parse_address() makes the same of it.
std::string text_of(const Address& address);

// The same address with the mark of its options: "s3://<2>bucket/key". 0: as it is.
std::string with_mark(std::string_view address, int mark);

// `text` for messages: without its mark, and without a query, which may be a signature.
std::string shown_address(std::string_view text);

// Whether what opens `file` opens `other`, too: a signature may be that of `file` alone.
bool are_opened_alike(const Place& file, const Place& other);

}  // namespace ffkit
