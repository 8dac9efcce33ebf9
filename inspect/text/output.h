// What ffinspect writes: JSON, bytes to standard output or a file, sizes and texts that are safe on
// a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ffkit {

using Json = nlohmann::ordered_json;

// One document, indented, and a line end. Text that is not UTF-8 gets replacement characters.
void print_json(const Json& document);
// One line of JSON Lines.
void print_json_line(const Json& value);
std::string json_text(const Json& value, int indent = -1);

// Makes the folder and those above it; throws Error(io).
void make_folder(const std::filesystem::path& folder);
// Creates `file` with `data`; throws Error(io) when it exists or cannot be written.
void write_new_file(const std::filesystem::path& file, std::span<const std::byte> data);
bool stdout_is_terminal();

// "17 B", "1.7 kB", "107.8 MB".
std::string human_bytes(int64_t bytes);
// `text` on one line: tabs, line ends, other control characters and backslashes as \t, \n, \x1b,
// \\.
std::string escaped(std::string_view text);

}  // namespace ffkit
