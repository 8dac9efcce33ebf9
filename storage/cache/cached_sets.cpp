// Options of the cache by the environment, and the sets that are in its folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include <ffkit/storage/cache.h>

#include "base/file/file_lock.h"
#include "base/fnv.h"
#include "base/make_error.h"
#include "cache/block_cache.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

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
        fmt::format("FFKIT_CACHE_BYTES is '{}', but must be a size such as 200G", text));
  }
  return static_cast<int64_t>(bytes);
}

constexpr std::string_view kSetMagic = "ffkit set 1\n";

std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", fnv1a64(std::as_bytes(std::span(text))));
}

fs::path set_file_of(const fs::path& folder, const std::string& set_hash) {
  return folder / fmt::format("ffkit-{}.set", set_hash);
}

bool lock_set(int fd, short type, bool wait) {
  return lock_bytes(fd, 0, 0, type, wait);
}

File open_set(const fs::path& folder, const std::string& address) {
  const fs::path path = set_file_of(folder, hash_of(address));
  while (true) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) throw io_error_at(path, "the file of the cache cannot be opened", errno);
    File file = File::adopt(fd, path);
    if (!lock_set(fd, F_RDLCK, /*wait=*/true)) {
      throw io_error_at(path, "cannot lock the file of the cache", errno);
    }
    if (!is_open_file_at(path, fd)) continue;  // it was removed while we waited
    // The same bytes, whoever writes them; the time says when the set was last used.
    const std::string text = fmt::format("{}{}\n", kSetMagic, address);
    file.write_at(0, std::as_bytes(std::span(text)));
    return file;
  }
}

struct SetFiles {
  fs::path set_file;
  std::string address;
  int64_t last_used = 0;
  int64_t num_bytes = 0;
  std::vector<fs::path> blocks;
};

int64_t bytes_on_disk(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? int64_t{status.st_blocks} * 512 : 0;
}

// "ffkit-0123456789abcdef" and what follows.
std::optional<std::string> set_hash_in(const std::string& name) {
  constexpr std::string_view kBegin = "ffkit-";
  constexpr size_t kHashDigits = 16;
  const bool is_set = name.size() == kBegin.size() + kHashDigits + 4 && name.ends_with(".set");
  const bool is_blocks =
      name.size() == kBegin.size() + 2 * kHashDigits + 8 && name.ends_with(".blocks");
  if (!name.starts_with(kBegin) || (!is_set && !is_blocks)) return std::nullopt;
  const std::string hash = name.substr(kBegin.size(), kHashDigits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return hash;
}

// By the hash of their address.
std::map<std::string, SetFiles> files_of_sets(const fs::path& folder) {
  std::map<std::string, SetFiles> sets;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::optional<std::string> hash = set_hash_in(entries->path().filename().string());
    if (!hash) continue;
    SetFiles& set = sets[*hash];
    if (entries->path().extension() == ".blocks") {
      set.blocks.push_back(entries->path());
      set.num_bytes += bytes_on_disk(entries->path());
      continue;
    }
    set.set_file = entries->path();
    struct stat status {};
    if (::lstat(set.set_file.c_str(), &status) == 0) set.last_used = status.st_mtime;
  }
  return sets;
}

std::string address_in(const fs::path& set_file) {
  std::string text;
  try {
    text = read_whole_text(set_file, 1 << 16);
  } catch (const Error&) {
    return {};
  }
  if (!text.starts_with(kSetMagic)) return {};
  return text.substr(kSetMagic.size(), text.find('\n', kSetMagic.size()) - kSetMagic.size());
}

// Removes a set unless somebody uses it; returns the bytes.
int64_t remove_set(const fs::path& folder, const std::string& hash, const SetFiles& set) {
  const fs::path path = set_file_of(folder, hash);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  const File file = File::adopt(fd, path);
  if (!lock_set(fd, F_WRLCK, /*wait=*/false) || !is_open_file_at(path, fd)) return 0;
  int64_t num_bytes = 0;
  for (const fs::path& blocks : set.blocks) {
    const int64_t bytes = bytes_on_disk(blocks);
    if (::unlink(blocks.c_str()) == 0) num_bytes += bytes;
  }
  ::unlink(path.c_str());
  return num_bytes;
}

bool is_set_in_use(const fs::path& set_file) {
  const int fd = ::open(set_file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const File file = File::adopt(fd, set_file);
  return !lock_set(fd, F_WRLCK, /*wait=*/false);
}

}  // namespace

CacheOptions cache_options_of_environment() {
  CacheOptions options;
  const std::string_view folder = variable("FFKIT_CACHE");
  if (folder == "off" || folder == "none" || folder == "0") return options;
  if (const std::string_view bytes = variable("FFKIT_CACHE_BYTES"); !bytes.empty()) {
    options.max_bytes = parse_cache_bytes(bytes);
  }
  options.folder = folder.empty() ? default_cache_folder() : fs::path(folder);
  return options;
}

fs::path default_cache_folder() {
  const std::string_view temporary = variable("TMPDIR");
  return fs::path(temporary.empty() ? "/tmp" : temporary) /
         fmt::format("ffkit-cache-{}", ::getuid());
}

SetInUse::SetInUse(const fs::path& folder, const std::string& address)
    : file_(open_set(folder, address)) {}

fs::path cache_file_of(const fs::path& folder, const std::string& set_address,
                       const std::string& key) {
  return folder / fmt::format("ffkit-{}-{}.blocks", hash_of(set_address), hash_of(key));
}

int64_t bytes_in_cache(const fs::path& folder) {
  int64_t num_bytes = 0;
  for (const auto& [hash, set] : files_of_sets(folder)) num_bytes += set.num_bytes;
  return num_bytes;
}

int64_t remove_unused(const fs::path& folder, int64_t num_bytes) {
  const std::map<std::string, SetFiles> sets = files_of_sets(folder);
  std::vector<std::pair<std::string, const SetFiles*>> by_age;
  by_age.reserve(sets.size());
  for (const auto& [hash, set] : sets) by_age.emplace_back(hash, &set);
  std::ranges::stable_sort(by_age, {}, [](const auto& set) { return set.second->last_used; });
  int64_t removed = 0;
  for (const auto& [hash, set] : by_age) {
    if (removed >= num_bytes) break;
    removed += remove_set(folder, hash, *set);
  }
  return removed;
}

std::vector<CachedSet> cached_sets(const fs::path& folder) {
  std::vector<CachedSet> found;
  for (const auto& [hash, set] : files_of_sets(folder)) {
    found.push_back({.address = address_in(set.set_file),
                     .num_objects = std::ssize(set.blocks),
                     .num_bytes = set.num_bytes,
                     .is_in_use = is_set_in_use(set.set_file),
                     .last_used = set.last_used});
  }
  std::ranges::stable_sort(found, std::greater{}, &CachedSet::last_used);
  return found;
}

int64_t clean_cache(const fs::path& folder, const std::string& address) {
  int64_t removed = 0;
  for (const auto& [hash, set] : files_of_sets(folder)) {
    if (address_in(set.set_file).starts_with(address)) removed += remove_set(folder, hash, set);
  }
  return removed;
}

}  // namespace ffkit
