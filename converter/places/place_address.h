// Places that are asked as stores are, those of a disk too: a path is file:// and the path.
#pragma once

#include <filesystem>
#include <string>

#include <ffkit/base/error.h>

namespace ffkit {

// The address of `path`, without a slash at its end.
std::string address_of_place(const std::filesystem::path& path);
// The address of a file or a folder below a place; of the place itself where `name` is empty.
std::string address_below(const std::string& place, const std::string& name);

// Whether an address that address_of_place() gives is of a disk; its path, or another address.
bool is_place_on_disk(const std::string& address);
std::filesystem::path path_of_place(const std::string& address);
// For messages: the path, or the address without its query.
std::string shown_address_of_place(const std::string& address);
// `text` with the path in place of a disk's `address`, wherever that stands.
std::string with_path_of_place(std::string text, const std::string& address);
// `error` with the path in place of a disk's `address` in all that it says.
Error error_with_path_of_place(const Error& error, const std::string& address);

}  // namespace ffkit
