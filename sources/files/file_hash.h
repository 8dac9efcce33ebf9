// The hashes by which other libraries know a file, by Python's names of them ("sha1", "blake2b").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "files/file_window.h"

namespace ffkit {

// The hexadecimal digits of the hash of the first `num_bytes` of what `read` reads; nothing for a
// hash that OpenSSL has not, such as xxHash. Reads in blocks of 1 MiB.
std::optional<std::string> hash_of_file(std::string_view algorithm, int64_t num_bytes,
                                        const ReadBytes& read);
// Whether there is one.
bool is_known_hash(std::string_view algorithm);

}  // namespace ffkit
