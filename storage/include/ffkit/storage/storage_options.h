// Options of one place in a store: its keys, its endpoint, how its objects are written. They go
// along with the address, so whatever takes an address takes one with options, and what is below it
// has them, too:
//
//   const auto data = with_storage_options("s3://bucket/set", {{{"profile", "partner"}}});
//   Dataset::open(data, "train");
//
// The address then has a mark ("s3://<2>bucket/set") that means something in this process and its
// children by fork() alone. Messages, manifests and states have addresses without marks. All
// functions are thread-safe but set_storage_options().
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace ffkit {

// By their names, without case: those of docs/storage.md, of s3fs, and of the variables of the
// environment. What is not said is as the environment has it. Options that say who one is (a key, a
// profile, a token) stand for all that the environment says of that.
struct StorageOptions {
  std::map<std::string, std::string> values;

  bool operator==(const StorageOptions&) const = default;
};

// `address` with these options in place of those that it has. Without options: as it is, if
// set_storage_options() was not called. Throws Error(invalid_argument) for a path, for an option
// that there is not, and for a value that makes no sense; no message has a secret.
std::filesystem::path with_storage_options(const std::filesystem::path& address,
                                           const StorageOptions& options);
// The options of `address`, those of set_storage_options() if it has none of its own.
StorageOptions storage_options_of(const std::filesystem::path& address);
// For messages, and to compare places: those with other endpoints may have buckets of one name.
std::filesystem::path without_storage_options(const std::filesystem::path& address);
// The endpoint that the options of `address` name; empty: they name none.
std::string endpoint_in_options(const std::string& address);

// Options of all addresses without a mark, in place of the environment's. `address` says of which
// store they are; throws as with_storage_options(). For the begin of a program: no store must have
// been used before.
void set_storage_options(const std::filesystem::path& address, const StorageOptions& options);

// The options of a source and of a destination: `options` are those of the destination, or of the
// source if the destination is in no store; `source_options` are those of the source. Throws
// Error(invalid_argument) for options of a place that is in no store.
std::pair<StorageOptions, StorageOptions> share_storage_options(
    const std::filesystem::path& source, const std::filesystem::path& destination,
    const StorageOptions& options, const StorageOptions& source_options);

}  // namespace ffkit
