// Options of one place in a store: its keys, its endpoint, how its objects are written. They are
// part of the address, so all functions that take an address take one with options. Addresses below
// it have the same options:
//
//   const auto data = with_storage_options("s3://bucket/set", {{{"profile", "partner"}}});
//   Dataset::open(data, "train");
//
// The address then has a mark ("s3://<2>bucket/set"), which is valid only in this process and its
// children by fork(). Messages, manifests and states have addresses without marks. All functions
// except set_storage_options() are thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace ffkit {

// Options by name, in small or capital letters: the names of docs/storage.md, of s3fs, and of
// environment variables. For missing options, the environment is used. If credentials (a key, a
// profile, a token) are given, all credentials of the environment are ignored.
struct StorageOptions {
  std::map<std::string, std::string> values;

  bool operator==(const StorageOptions&) const = default;
};

// `address` with these options instead of its own. Without options: unchanged, if
// set_storage_options() was not called. Throws Error(invalid_argument) for a path, an unknown
// option and an invalid value; no message contains a secret.
std::filesystem::path with_storage_options(const std::filesystem::path& address,
                                           const StorageOptions& options);
// The options of `address`, those of set_storage_options() if it has none of its own.
StorageOptions storage_options_of(const std::filesystem::path& address);
// The address without options, for messages. Places with different endpoints may then look equal.
std::filesystem::path without_storage_options(const std::filesystem::path& address);
// The endpoint that the options of `address` name; empty: they name none.
std::string endpoint_in_options(const std::string& address);

// Sets options for all addresses without a mark, instead of the environment's. `address` names the
// store; throws like with_storage_options(). Call it at the begin of a program, before any store is
// used.
void set_storage_options(const std::filesystem::path& address, const StorageOptions& options);

// The options of a source and of a destination: `options` are for the destination, or for the
// source if the destination is not in a store; `source_options` are for the source. Throws
// Error(invalid_argument) for options of a place that is not in a store.
std::pair<StorageOptions, StorageOptions> share_storage_options(
    const std::filesystem::path& source, const std::filesystem::path& destination,
    const StorageOptions& options, const StorageOptions& source_options);

}  // namespace ffkit
