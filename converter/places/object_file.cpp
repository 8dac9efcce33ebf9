#include "places/object_file.h"

#include <algorithm>
#include <optional>

#include <ffkit/storage/cache.h>

#include "base/make_error.h"
#include "places/read_ahead.h"
#include "storage/addresses/place.h"

namespace ffkit {
namespace {

// From the third read in a row on, since a header and what is behind it are two.
constexpr int kReadsInRow = 3;
constexpr int64_t kAheadRequestBytes = 4 << 20;
constexpr int64_t kMostAheadBytes = 32 << 20;

// If so many ranges have so few bytes, and most do, each would be a request.
constexpr int64_t kManyRanges = 64;
constexpr int64_t kSmallRangeBytes = 32 << 10;

}  // namespace

ObjectFile::ObjectFile(const std::filesystem::path& address)
    : address_(address.native()), store_(store_of(address_)) {
  const std::optional<ObjectFacts> facts = store_->find(address_);
  if (!facts) {
    throw Error(ErrorCode::not_found, "there is no such object",
                {.path = shown_address(address_), .subject = ErrorSubject::source});
  }
  listed_ = {.num_bytes = facts->num_bytes, .version = version_number(facts->version)};
  version_ = facts->version;
}

ObjectFile::ObjectFile(const std::filesystem::path& address, const PlacedObject& listed)
    : address_(address.native()), store_(store_of(address_)), listed_(listed) {}

void ObjectFile::throw_changed(const std::string& how) const {
  throw error_at(shown_address(address_), ErrorCode::not_found,
                 "the object was changed after ffkit listed it{}{}; convert the object when no "
                 "program writes to it",
                 how.empty() ? "" : ": ", how)
      .with_subject(ErrorSubject::source);
}

std::string ObjectFile::known_version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

void ObjectFile::require_version(const std::string& found) const {
  if (listed_.version != 0 && version_number(found) != listed_.version) throw_changed("");
  const std::scoped_lock lock(mutex_);
  if (version_.empty()) version_ = found;
}

void ObjectFile::read_of_store(int64_t offset, std::span<std::byte> out) const {
  std::string version = known_version();
  try {
    if (const RandomReader* cached = cached_for(std::ssize(out))) {
      cached->read_at(offset, out);
    } else if (version.empty()) {
      version = store_->read_latest(address_, offset, out, listed_.num_bytes);
    } else {
      store_->read(address_, offset, out, {listed_.num_bytes, version});
    }
  } catch (const Error& error) {
    // It ends before, or has another version or length.
    if (error.code() == ErrorCode::corrupt) throw_changed(error.message());
    throw;
  }
  require_version(version);
}

void ObjectFile::announce_what_follows(int64_t offset, int64_t num_bytes) const {
  int64_t begin = 0;
  int64_t end = 0;
  {
    const std::scoped_lock lock(mutex_);
    num_in_row_ = offset == next_ ? num_in_row_ + 1 : 1;
    next_ = offset + num_bytes;
    if (num_in_row_ < kReadsInRow) {
      announced_end_ = 0;
      return;
    }
    // Twice as much each time, so that who reads little asks for little.
    const int64_t wanted =
        std::min(kMostAheadBytes, kAheadRequestBytes << std::min(num_in_row_ - kReadsInRow, 3));
    begin = std::max(next_, announced_end_);
    end = std::min(next_ + wanted, listed_.num_bytes);
    if (end - begin < std::min(kAheadRequestBytes, listed_.num_bytes - begin)) return;
    announced_end_ = end;
  }
  const ObjectFacts known{listed_.num_bytes, known_version()};
  for (; begin < end; begin += kAheadRequestBytes) {
    read_ahead::announce(address_, begin, std::min(kAheadRequestBytes, end - begin), known);
  }
}

const RandomReader* ObjectFile::cached_for(int64_t num_bytes) const {
  const bool is_small = num_bytes <= kSmallRangeBytes;
  const std::scoped_lock lock(mutex_);
  ++num_scattered_;
  if (is_small) ++num_small_;
  if (!is_small || num_small_ < kManyRanges || num_small_ * 2 < num_scattered_) return nullptr;
  if (cached_ != nullptr) return cached_.get();
  if (version_.empty() || cache_options().folder.empty()) return nullptr;
  cached_ = open_random_reader(address_, {.num_bytes = listed_.num_bytes, .version = version_});
  return cached_.get();
}

void ObjectFile::read_at(int64_t offset, std::span<std::byte> out) const {
  if (out.empty()) return;
  if (offset + std::ssize(out) > listed_.num_bytes) {
    throw Error(ErrorCode::corrupt,
                fmt::format("the object has only {} bytes, fewer than expected", listed_.num_bytes),
                {.path = shown_address(address_), .offset = offset});
  }
  announce_what_follows(offset, std::ssize(out));
  while (!out.empty()) {
    std::string version;
    size_t num_bytes = read_ahead::take(address_, offset, out, version);
    if (num_bytes == 0 && read_ahead::fetch_pieces(address_, offset, std::ssize(out),
                                                   {listed_.num_bytes, known_version()})) {
      num_bytes = read_ahead::take(address_, offset, out, version);
    }
    // What was announced of an older version is of no use, and is no change either.
    const bool is_listed = listed_.version == 0 || version_number(version) == listed_.version;
    if (num_bytes > 0 && is_listed) {
      require_version(version);
    } else {
      num_bytes = out.size();
      read_of_store(offset, out);
    }
    offset += static_cast<int64_t>(num_bytes);
    out = out.subspan(num_bytes);
  }
}

void ObjectFile::announce(int64_t offset, int64_t num_bytes) const {
  const ObjectFacts known{listed_.num_bytes, known_version()};
  num_bytes = std::min(num_bytes, listed_.num_bytes - offset);
  if (read_ahead::fetch_pieces(address_, offset, num_bytes, known)) return;
  if (const RandomReader* cached = cached_for(num_bytes)) {
    cached->announce(offset, num_bytes);
  } else {
    read_ahead::announce(address_, offset, num_bytes, known);
  }
}

void announce_range(const std::filesystem::path& path, int64_t offset, int64_t num_bytes) noexcept {
  if (!Place(path).is_in_store()) return;
  try {
    read_ahead::announce(path.native(), offset, num_bytes, {});
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // The read says what is wrong.
  }
}

}  // namespace ffkit
