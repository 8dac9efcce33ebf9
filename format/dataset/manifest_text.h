// The text of a manifest.json, and back; and what a split may be called.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <ffkit/format/manifest.h>

namespace ffkit {

// `path` is where it is written. Throws Error(invalid_argument) for a text that is not UTF-8.
std::string manifest_text(const Manifest& manifest, const std::filesystem::path& path);
// `path` is where `text` was found. Throws as read_manifest().
Manifest parse_manifest_text(std::string text, const std::filesystem::path& path);

// Why `name` cannot be that of a split's folder in a data set, "begins with a dot"; empty when it
// can.
std::string fault_of_split_name(std::string_view name);

}  // namespace ffkit
