#include "text/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/file/file.h"
#include "base/make_error.h"
#include "tools/common/output_file.h"

namespace ffkit {

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_json(const Json& document) {
  write_output("", json_text(document, 2));
}

void print_json_line(const Json& value) {
  write_output("", json_text(value));
}

void make_folder(const std::filesystem::path& folder) {
  require_local(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require_done(error, folder, "cannot create the folder");
}

void write_new_file(const std::filesystem::path& file, std::span<const std::byte> data) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw io_error_at(file, "cannot create the file", errno);
  }
  const int problem = write_and_close(fd, data);
  if (problem != 0) {
    unlink(file.c_str());  // made here
    fail_writing(file, problem);
  }
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) != 0;
}

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\t') {
      result += "\\t";
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\\') {
      result += "\\\\";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace ffkit
