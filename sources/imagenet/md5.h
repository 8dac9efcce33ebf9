// MD5 (RFC 1321), by OpenSSL: the sums that ImageNet's site gives for its archives.
#pragma once

#include <string>

#include "converter/input/input_file.h"

namespace ffkit {

// The sum of the whole file as 32 hexadecimal digits. Reads it once, from the beginning to the end.
// Throws Error(io) and Error(corrupt) as InputFile::read_at() does, and Error(unsupported) where
// OpenSSL is set up to refuse MD5.
std::string md5_of(const InputFile& file);

}  // namespace ffkit
