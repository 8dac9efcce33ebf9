// The text of a manifest.json, and back.
#pragma once

#include <filesystem>
#include <string>

#include <ffkit/format/manifest.h>

namespace ffkit {

// `path` is where it is written. Throws Error(invalid_argument) for a text that is not UTF-8.
std::string manifest_text(const Manifest& manifest, const std::filesystem::path& path);
// `path` is where `text` was found. Throws as read_manifest().
Manifest parse_manifest_text(std::string text, const std::filesystem::path& path);

}  // namespace ffkit
