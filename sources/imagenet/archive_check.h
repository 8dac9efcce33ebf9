// Whether archives are the official ones, by their MD5 sums.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/input/input_file.h"

namespace ffkit {

// The MD5 sum (RFC 1321) of the whole file as 32 hexadecimal digits. Reads it once, from the
// beginning to the end. Throws Error(io) and Error(corrupt) as InputFile::read_at() does, and
// Error(unsupported) where OpenSSL is set up to refuse MD5.
std::string md5_of(const InputFile& file);

struct ArchiveSum {
  std::string_view name;  // of the file
  std::string_view md5;   // 32 hexadecimal digits
};

// The sums that ImageNet's site and torchvision give for ILSVRC2012's train, val and devkit
// archives.
std::span<const ArchiveSum> imagenet_archive_sums();

// Reads all `archives` whole, at the same time. Returns one sentence for each: that it is the
// official one, or that there is no sum for it. Throws Error(corrupt) for the first that has
// another sum than `sums` give for its name.
std::vector<std::string> check_archives(const std::vector<std::filesystem::path>& archives,
                                        std::span<const ArchiveSum> sums = imagenet_archive_sums());

}  // namespace ffkit
