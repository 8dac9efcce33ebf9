#include "archives/tar_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "archives/archive_reader.h"

namespace ffkit {
namespace {

constexpr int64_t kTarBlock = 512;
// That tell how long members are.
constexpr size_t kFirstMembers = 32;
constexpr int64_t kLongMember = 1 << 20;
constexpr int64_t kLeastPerSegment = 16;
constexpr int64_t kMostSegments = 64;
// In which a segment's first header must be found.
constexpr int64_t kSearchedBytes = 4 << 20;
constexpr int64_t kSearchStep = 256 << 10;

// Where to stop: at the first header from `stop_at` on, or behind so many members.
struct ScanLimits {
  int64_t stop_at = std::numeric_limits<int64_t>::max();
  size_t max_members = std::numeric_limits<size_t>::max();
};

// From the header at `begin` of the range on.
TarScan scan_from(const InputFile& file, FileRange range, const std::string& name, int64_t begin,
                  const ScanLimits& limits) {
  ArchiveReader reader(file, range.offset + begin, range.num_bytes - begin, name,
                       ArchiveReader::Compression::none);
  TarScan scan;
  scan.end_of_members = begin;
  for (size_t count = 0; archive_entry* entry = reader.next(); ++count) {
    const int64_t header = begin + reader.header_position();
    if (header >= limits.stop_at || count >= limits.max_members) {
      scan.next_header = header;
      return scan;
    }
    std::string member = reader.checked_name(entry);
    const int64_t data = begin + reader.position();
    const int64_t num_bytes = archive_entry_size(entry);
    if (num_bytes < 0 || num_bytes > range.num_bytes - data) {
      throw Error(ErrorCode::corrupt,
                  fmt::format("the archive is cut short: member '{}' needs {} bytes but {} are "
                              "left; download or copy it again",
                              member, num_bytes, std::max<int64_t>(range.num_bytes - data, 0)),
                  {.path = name, .offset = data});
    }
    scan.end_of_members = data + num_bytes;
    if (archive_entry_filetype(entry) == AE_IFREG) {
      scan.members.push_back({std::move(member), {range.offset + data, num_bytes}});
    }
  }
  return scan;
}

// The octal number of a field; -1 for anything else.
int64_t octal_field(std::string_view field) {
  int64_t number = 0;
  bool has_digits = false;
  for (const char c : field) {
    if (c == ' ' && !has_digits) continue;
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return -1;
    number = 8 * number + (c - '0');
    has_digits = true;
  }
  return has_digits ? number : -1;
}

// Whether the block is a header, by magic and checksum.
bool is_header(std::string_view block) {
  constexpr size_t kChecksum = 148;
  constexpr size_t kChecksumBytes = 8;
  if (block.substr(257, 5) != "ustar") return false;
  int64_t sum = kChecksumBytes * ' ';
  for (size_t i = 0; i < block.size(); ++i) {
    const bool is_sum = i >= kChecksum && i < kChecksum + kChecksumBytes;
    if (!is_sum) sum += static_cast<unsigned char>(block[i]);
  }
  return octal_field(block.substr(kChecksum, kChecksumBytes)) == sum;
}

// Where an entry begins, at `guess` or soon behind it; nothing where none is found. What is behind
// a file's bytes is the begin of one, whatever headers an entry has.
std::optional<int64_t> find_entry(const InputFile& file, FileRange range, int64_t guess) {
  std::string text;
  for (int64_t at = guess / kTarBlock * kTarBlock; at < guess + kSearchedBytes; at += kSearchStep) {
    const int64_t num_bytes = std::min(kSearchStep, (range.num_bytes - at) / kTarBlock * kTarBlock);
    if (num_bytes <= 0) return std::nullopt;
    text.resize(static_cast<size_t>(num_bytes));
    file.read_at(range.offset + at, std::as_writable_bytes(std::span(text)));
    for (int64_t i = 0; i < num_bytes; i += kTarBlock) {
      const auto block = std::string_view(text).substr(static_cast<size_t>(i), kTarBlock);
      if (!is_header(block)) continue;
      const int64_t size = octal_field(block.substr(124, 12));
      const char type = block[156];
      if (size < 0 || (type != '0' && type != '\0')) continue;
      const int64_t entry = at + i + kTarBlock + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
      if (entry < range.num_bytes) return entry;
    }
  }
  return std::nullopt;
}

void append(TarScan& all, TarScan more) {
  all.members.insert(all.members.end(), std::make_move_iterator(more.members.begin()),
                     std::make_move_iterator(more.members.end()));
  all.end_of_members = more.end_of_members;
  all.next_header = more.next_header;
}

// Calls body(0) .. body(count - 1), each in a thread of its own as far as they can be started. Not
// parallel_io(): one within another would have as few threads as the smaller one asks for. `body`
// must not throw.
template <typename Body>
void side_by_side(size_t count, const Body& body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  size_t num_begun = 1;
  try {
    for (; num_begun < count; ++num_begun) threads.emplace_back(body, num_begun);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // The rest is for this thread.
  }
  if (count > 0) body(0);
  for (; num_begun < count; ++num_begun) body(num_begun);
  for (std::thread& thread : threads) thread.join();
}

// From `begin`, in about `num_segments`. Nothing where a segment that counts failed: front to back
// says how.
std::optional<TarScan> scan_segments(const InputFile& file, FileRange range,
                                     const std::string& name, int64_t begin, int64_t num_segments) {
  std::vector<int64_t> begins(static_cast<size_t>(num_segments), -1);
  begins[0] = begin;
  side_by_side(begins.size() - 1, [&](size_t i) {
    try {
      const int64_t guess =
          begin + (range.num_bytes - begin) / num_segments * static_cast<int64_t>(i + 1);
      begins[i + 1] = find_entry(file, range, guess).value_or(-1);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // The segment before goes on there, and says what is wrong.
    }
  });
  std::erase(begins, -1);
  std::ranges::sort(begins);
  // Not of std::ranges: clang-tidy 14 cannot read libstdc++'s subrange.
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::vector<std::optional<TarScan>> scans(begins.size());
  side_by_side(begins.size(), [&](size_t i) {
    ScanLimits limits;
    if (i + 1 < begins.size()) limits.stop_at = begins[i + 1];
    try {
      scans[i] = scan_from(file, range, name, begins[i], limits);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // It may have begun where no entry is.
    }
  });
  TarScan all{.members = {}, .end_of_members = begin, .next_header = begin};
  while (all.next_header >= 0) {
    const auto found = std::ranges::lower_bound(begins, all.next_header);
    if (found != begins.end() && *found == all.next_header) {
      std::optional<TarScan>& scan = scans[static_cast<size_t>(found - begins.begin())];
      if (!scan) return std::nullopt;
      append(all, std::move(*scan));
    } else {
      ScanLimits limits;
      if (found != begins.end()) limits.stop_at = *found;
      append(all, scan_from(file, range, name, all.next_header, limits));
    }
  }
  return all;
}

}  // namespace

TarScan scan_tar(const InputFile& file, FileRange range, const std::string& name,
                 size_t num_beside) {
  const int64_t most = kMostSegments / static_cast<int64_t>(std::max<size_t>(num_beside, 1));
  if (!file.is_in_store() || most < 2) return scan_from(file, range, name, 0, {});
  TarScan all = scan_from(file, range, name, 0, {.max_members = kFirstMembers});
  if (all.next_header < 0) return all;
  const int64_t per_member = all.next_header / static_cast<int64_t>(kFirstMembers) + 1;
  const int64_t num_left = (range.num_bytes - all.next_header) / per_member;
  const int64_t num_segments = std::min(most, num_left / kLeastPerSegment);
  const int64_t begin = all.next_header;
  if (per_member <= kLongMember && num_segments >= 2) {
    if (auto rest = scan_segments(file, range, name, begin, num_segments)) {
      append(all, std::move(*rest));
      return all;
    }
  }
  // Anew, so that what it says of offsets is of the whole.
  return scan_from(file, range, name, 0, {});
}

}  // namespace ffkit
