// Options of the cache by the environment.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <ffkit/storage/cache.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// "200G": powers of 1000, as disks are sold, or of 1024 with an i.
int64_t parse_cache_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  double factor = 1;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const size_t power = kUnits.find(static_cast<char>(unit.front() & ~0x20));
    unit.remove_prefix(1);
    const bool is_binary = !unit.empty() && unit.front() == 'i';
    if (is_binary) unit.remove_prefix(1);
    if (!unit.empty() && (unit == "B" || unit == "b")) unit.remove_prefix(1);
    if (power == std::string_view::npos || !unit.empty()) {
      factor = 0;
    } else {
      for (size_t i = 0; i <= power; ++i) factor *= is_binary ? 1024 : 1000;
    }
  }
  const double bytes = number * factor;
  if (error != std::errc() || bytes < 1 || bytes > 9e18) {
    throw argument_error(
        "FFKIT_CACHE_BYTES",
        fmt::format("FFKIT_CACHE_BYTES is '{}', and not a size such as 200G", text));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace

CacheOptions cache_options_of_environment() {
  CacheOptions options;
  const std::string_view folder = variable("FFKIT_CACHE");
  if (folder == "off") return options;
  if (const std::string_view bytes = variable("FFKIT_CACHE_BYTES"); !bytes.empty()) {
    options.max_bytes = parse_cache_bytes(bytes);
  }
  if (!folder.empty()) {
    options.folder = folder;
    return options;
  }
  const std::string_view temporary = variable("TMPDIR");
  options.folder = std::filesystem::path(temporary.empty() ? "/tmp" : temporary) /
                   fmt::format("ffkit-cache-{}", ::getuid());
  return options;
}

}  // namespace ffkit
