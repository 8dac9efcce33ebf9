// Files at paths that users name: nothing is lost that was there, and nothing half written stays.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffkit {

// Writes `data` to a temporary file beside `file`, which then takes its name, through symbolic
// links and with the mode of a file that is replaced. What fails leaves the old file as it was. A
// read-only file and a folder are refused. A device or pipe is written to, never removed. Where the
// folder takes no new file but the old one may be written, it is overwritten in place. Throws
// Error(io), Error(invalid_argument).
void write_output_file(const std::filesystem::path& file, std::span<const std::byte> data);

// To `file` as write_output_file() does, or to standard output when it is empty; throws Error(io).
void write_output(const std::string& file, std::span<const std::byte> data);
void write_output(const std::string& file, std::string_view text);

// Writes all of `data` and closes `fd`. Returns 0 or an errno.
int write_and_close(int fd, std::span<const std::byte> data);
// Throws Error(io) that says so, with what to do about a full disk.
[[noreturn]] void fail_writing(const std::filesystem::path& file, int error);

// Throws Error(invalid_argument) when `output` is the same file as one of `inputs`, by whatever
// path. An empty `output` stands for standard output.
void require_no_input(const std::filesystem::path& output,
                      const std::vector<std::filesystem::path>& inputs);

}  // namespace ffkit
