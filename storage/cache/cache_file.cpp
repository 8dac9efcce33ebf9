#include "cache/cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <ffkit/base/crc32c.h>

#include "base/file/file_lock.h"
#include "base/make_error.h"
#include "cache/block_run.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheMagic = "ffkit blocks 2\n";
constexpr int64_t kCachePage = 4096;
constexpr size_t kBootIdBytes = 36;

enum State : uint32_t { kMissing = 0, kThere = 1, kInDoubt = 2 };

// Another one after each start of the machine.
std::string boot_id() {
  std::string id = small_file("/proc/sys/kernel/random/boot_id");
  // Without one every block is compared with its checksum.
  if (id.size() != kBootIdBytes) id.assign(kBootIdBytes, ' ');
  return id;
}

// The magic, the start of the machine at which it was last opened, the key, the version, and zeros.
std::string header_of(const std::string& boot, const std::string& key, const std::string& version) {
  std::string header = fmt::format("{}{}\n{}\n{}\n", kCacheMagic, boot, key, version);
  header.resize(std::max(header.size(), static_cast<size_t>(kCachePage)), '\0');
  return header;
}

// -1 where there is none and none is to be made. What is private in a store stays so: mode 0600.
int open_cache_file(const fs::path& path, bool make) {
  const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (make ? O_CREAT : 0);
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0 && (make || errno != ENOENT)) {
    throw io_error_at(path, "the file of the cache cannot be opened", errno);
  }
  return fd;
}

}  // namespace

CacheFile::CacheFile(File file, const std::string& key, int64_t object_bytes)
    : key_(fmt::format("{} {}", object_bytes, key)),
      object_bytes_(object_bytes),
      file_(std::move(file)),
      is_known_(static_cast<size_t>((object_bytes + kBlockBytes - 1) / kBlockBytes)) {}

std::unique_ptr<CacheFile> CacheFile::find(const fs::path& path, const std::string& key,
                                           int64_t object_bytes) {
  const int fd = open_cache_file(path, /*make=*/false);
  if (fd < 0) return nullptr;
  std::unique_ptr<CacheFile> found(new CacheFile(File::adopt(fd, path), key, object_bytes));
  // One process at a time looks at the header.
  lock_bytes(fd, found->header_at(), 1, F_WRLCK, /*wait=*/true);
  const bool is_for_this = found->take_over();
  lock_bytes(fd, found->header_at(), 1, F_UNLCK, /*wait=*/false);
  return is_for_this ? std::move(found) : nullptr;
}

std::unique_ptr<CacheFile> CacheFile::make(const fs::path& path, const std::string& key,
                                           const std::string& version, int64_t object_bytes) {
  while (true) {
    const int fd = open_cache_file(path, /*make=*/true);
    std::unique_ptr<CacheFile> made(new CacheFile(File::adopt(fd, path), key, object_bytes));
    if (!lock_bytes(fd, made->header_at(), 1, F_WRLCK, /*wait=*/true)) {
      throw io_error_at(path, "cannot lock the file of the cache", errno);
    }
    // Somebody may have removed it while we waited.
    if (!is_open_file_at(path, fd)) continue;
    if (made->is_empty()) made->begin(version);
    if (made->take_over() && made->version() == version) {
      lock_bytes(fd, made->header_at(), 1, F_UNLCK, /*wait=*/false);
      return made;
    }
    // Another one begins in its place. Who has this one open keeps it.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      throw io_error_at(path, "cannot remove the old file of the cache", errno);
    }
  }
}

int64_t CacheFile::header_at() const {
  return (object_bytes_ + kCachePage - 1) / kCachePage * kCachePage;
}
int64_t CacheFile::entry_at(int64_t block) const {
  return header_at() + kCachePage + block * static_cast<int64_t>(sizeof(Entry));
}

void CacheFile::begin(const std::string& version) {
  if (::ftruncate(file_.fd(), entry_at(num_blocks())) != 0) {
    throw io_error_at(file_.path(), "cannot make the file of the cache", errno);
  }
  const std::string header = header_of(boot_id(), key_, version);
  file_.write_at(header_at(), std::as_bytes(std::span(header)));
}

// False for a file that is not for this content.
bool CacheFile::take_over() {
  if (file_.size() != entry_at(num_blocks())) return false;
  std::string header(static_cast<size_t>(kCachePage), '\0');
  file_.read_at(header_at(), std::as_writable_bytes(std::span(header)));
  const std::string before = header.substr(kCacheMagic.size(), kBootIdBytes);
  const size_t version_at = kCacheMagic.size() + kBootIdBytes + 1 + key_.size() + 1;
  if (version_at > header.size()) return false;
  version_ = header.substr(version_at, header.find('\n', version_at) - version_at);
  if (header != header_of(before, key_, version_)) return false;
  const std::string boot = boot_id();
  if (before == boot && boot != std::string(kBootIdBytes, ' ')) return true;
  doubt_blocks();
  header = header_of(boot, key_, version_);
  file_.write_at(header_at(), std::as_bytes(std::span(header)));
  return true;
}

void CacheFile::doubt_blocks() const {
  for (int64_t block = 0; block < num_blocks(); ++block) {
    const Entry known = entry(block);
    if (known.state == kThere) set_entry(block, {known.crc32c, kInDoubt});
  }
}

CacheFile::Entry CacheFile::entry(int64_t block) const {
  std::array<std::byte, sizeof(Entry)> bytes;
  file_.read_at(entry_at(block), bytes);
  return std::bit_cast<Entry>(bytes);
}

void CacheFile::set_entry(int64_t block, Entry entry) const {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(Entry)>>(entry);
  ssize_t n = 0;
  do {
    n = ::pwrite(file_.fd(), bytes.data(), bytes.size(), entry_at(block));
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(bytes.size())) {
    throw io_error_at(file_.path(), "cannot write to the cache", n < 0 ? errno : ENOSPC);
  }
}

bool CacheFile::holds(int64_t offset, int64_t num_bytes) const {
  if (num_bytes <= 0) return true;
  const BlockRun run = blocks_that_hold(offset, num_bytes);
  for (int64_t block = run.first; block < run.end(); ++block) {
    if (!holds_block(block)) return false;
  }
  return true;
}

bool CacheFile::holds_block(int64_t block) const {
  std::atomic<bool>& known = is_known_[static_cast<size_t>(block)];
  if (known.load(std::memory_order_acquire)) return true;
  const Entry there = entry(block);
  if (there.state == kMissing) return false;
  if (there.state == kInDoubt) {
    const bool is_right = matches_checksum(block, there.crc32c);
    set_entry(block, {there.crc32c, is_right ? kThere : kMissing});
    if (!is_right) return false;
  }
  known.store(true, std::memory_order_release);
  return true;
}

bool CacheFile::drop_damaged(int64_t offset, int64_t num_bytes) const {
  if (num_bytes <= 0) return false;
  bool has_dropped = false;
  const BlockRun run = blocks_that_hold(offset, num_bytes);
  for (int64_t block = run.first; block < run.end(); ++block) {
    const Entry there = entry(block);
    if (there.state == kMissing || matches_checksum(block, there.crc32c)) continue;
    set_entry(block, {});
    is_known_[static_cast<size_t>(block)].store(false, std::memory_order_release);
    has_dropped = true;
  }
  return has_dropped;
}

bool CacheFile::matches_checksum(int64_t block, uint32_t crc) const {
  std::vector<std::byte> bytes(static_cast<size_t>(block_size(block)));
  file_.read_at(block_begin(block), bytes);
  return crc32c(bytes) == crc;
}

// The byte behind the header that stands for the block: locks need no bytes that are there.
bool CacheFile::claim(int64_t block) const {
  return lock_bytes(file_.fd(), header_at() + 1 + block, 1, F_WRLCK, /*wait=*/false);
}
void CacheFile::release(int64_t block) const {
  lock_bytes(file_.fd(), header_at() + 1 + block, 1, F_UNLCK, /*wait=*/false);
}

void CacheFile::write(int64_t block, std::span<const std::byte> bytes) const {
  std::span<const std::byte> rest = bytes;
  int64_t offset = block_begin(block);
  while (!rest.empty()) {
    const ssize_t n = ::pwrite(file_.fd(), rest.data(), rest.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw io_error_at(file_.path(), "cannot write to the cache", n < 0 ? errno : ENOSPC);
    rest = rest.subspan(static_cast<size_t>(n));
    offset += n;
  }
  set_entry(block, {crc32c(bytes), kThere});
  is_known_[static_cast<size_t>(block)].store(true, std::memory_order_release);
}

}  // namespace ffkit
